"""The watch of a worker: its heartbeat, and those of others, whose runs it hands over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from toolplan.base.threads import in_thread
from toolplan.storage.journal import JournalError
from toolplan_workers.queue.dispatch import Dispatch, lock_of
from toolplan_workers.slots import Slots

_LOG: Final = logging.getLogger(__name__)
SILENT_S: Final = 10.0
"""Seconds without a sign of life after which a worker has its jobs no more; its leases decide."""

_LOOK_S: Final = 0.4
"""Seconds between a worker's looks for dead ones: a run of theirs waits about that long."""
_SILENT_EVERY: Final = 4
"""Looks between two extensions of its slots, when it also asks for hanging workers."""
_LOST_EVERY: Final = 75
"""Looks between two searches for runs without a job, which it puts back."""
_PAUSE_S: Final = 1.0
"""Seconds that it pauses after an error."""


class Watch:
    """One look at all workers after another, by each of them.

    A worker holds a lock of its session from before it takes anything until it is gone. A worker
    that finds it free knows that the other is dead: the token of each of its leases is raised, so
    that its later writes are refused, and its jobs are put back. It may have been alive: then
    it notices with its next write. Methods raise `JournalError` where the database cannot be used.
    """

    def __init__(
        self, dispatch: Dispatch, me: str, queue: str, limits: Sequence[Slots] = ()
    ) -> None:
        """Watch for the worker `me` of `queue`, which has slots of `limits`."""
        self.me = me
        self._dispatch = dispatch
        self._queue = queue
        self._limits = limits
        self._number = ""
        self._forgotten: set[int] = set()
        self._known: tuple[object, object] = ([], [])

    def begin(self) -> None:
        """Take the lock of this worker, before anything else is taken."""
        locks, name = self._dispatch.journal.locks, lock_of(self.me)
        if not locks.has(name):
            locks.hold(name)  # or later: who looks whether it is free may have it for a moment
            if self._number:
                self.join(self._number)  # others took this worker for dead

    def join(self, number: str) -> None:
        """Note the number of this worker in the queue."""
        self._number = number
        self._dispatch.join(self.me, number, self._queue)

    async def run(self, obey_cancellations: Callable[[], Awaitable[None]]) -> None:
        """Look until this is cancelled: at this worker's lock and messages, and at the others."""
        mine, turn = self._dispatch.queue.mine, 0
        while True:
            await asyncio.sleep(_LOOK_S)
            turn += 1
            try:
                await in_thread(self.begin)
                await obey_cancellations()
                await self.look(mine)
                if turn % _SILENT_EVERY == 0:
                    await self._extend_slots()
                    await self.look_for_silent(mine)
                    await self.look_for_forgotten(mine)
                if turn % _LOST_EVERY == 0:  # runs that must be continued and have no job
                    for run in await in_thread(self._dispatch.put_lost, self._queue):
                        _LOG.warning("Run %s had no job, and is put back.", run)
            except JournalError as error:
                _LOG.debug("The watch pauses: %s", error)
                await asyncio.sleep(_PAUSE_S)
            except Exception:
                _LOG.exception("The watch over workers failed, and continues.")
                await asyncio.sleep(_PAUSE_S)

    async def _extend_slots(self) -> None:
        """Extend the leases of this worker's slots, and note which of its runs wait for one."""
        places = self._dispatch.places
        held = [each for limit in self._limits for each in limit.held]
        waits = [each for limit in self._limits for each in limit.waits]
        known, self._known = self._known, (held, waits)
        if held or known[0]:
            kept = await in_thread(places.keep, held)
            for limit in self._limits:
                limit.kept(held, kept)
        if waits or known[1]:
            await in_thread(places.note_waits, waits)

    async def look(self, busy: set[int]) -> None:
        """Requeue the jobs of dead workers; `busy` are the jobs that this process works on."""
        workers, dead = await in_thread(self._ask)
        numbers = {number for name, number, _ in workers if name in dead}
        mine = {number for name, number, _ in workers if name == self.me}
        queue = self._dispatch.queue
        for job in await queue.doing() if dead or len(mine) > 1 else ():
            if job.worker in numbers or (job.worker in mine and job.number not in busy):
                await queue.back(job)
        for name in dead:
            await in_thread(self._dispatch.leave, name)

    async def look_for_silent(self, busy: set[int]) -> None:
        """Put back the jobs of workers that hang, or that the queue does not know.

        The session of one that hangs is ended: as long as it lasts it keeps its name.
        """
        stalled = await self._dispatch.queue.stalled(SILENT_S)
        silent = [job for job in stalled if job.number not in busy]
        if silent:
            numbers = {job.worker for job in silent}
            workers = await in_thread(self._dispatch.workers)
            names = {name for name, number, _ in workers if number in numbers and name != self.me}
            for name in sorted(names):
                _LOG.warning("Worker %s is silent; what it has is given to others.", name)
            locks = [lock_of(name) for name in sorted(names)]
            await in_thread(self._dispatch.journal.locks.end_sessions, locks)
        for job in silent:
            if job.number not in busy:  # this worker may have taken it just now
                await self._dispatch.queue.back(job)

    async def look_for_forgotten(self, busy: set[int]) -> None:
        """Put back jobs that this worker has, as the queue says, and does not work on.

        Their end was lost with a connection. A job that was taken just now, or ends just now, is
        not one at the next look.
        """
        workers = await in_thread(self._dispatch.workers)
        mine = {number for name, number, _ in workers if name == self.me}
        doing = await self._dispatch.queue.doing()
        found = {each.number: each for each in doing if each.worker in mine}
        idle = found.keys() - busy
        for number in idle & self._forgotten:
            await self._dispatch.queue.back(found[number])
        self._forgotten = idle - self._forgotten

    def _ask(self) -> tuple[list[tuple[str, str, str]], set[str]]:
        """Return all workers, and the names of the dead ones, whose leases are revoked."""
        workers, journal = self._dispatch.workers(), self._dispatch.journal
        names = sorted({name for name, _, _ in workers if name != self.me})
        free = journal.locks.free([lock_of(name) for name in names])
        dead = {name for name in names if lock_of(name) in free}
        for run, owner in journal.held().items() if dead else ():
            if owner in dead:
                journal.revoke(run, owner)
        return workers, dead
