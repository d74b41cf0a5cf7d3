"""The watch over workers: what the dead had is given to others."""

from __future__ import annotations

import logging
from typing import Final

from toolplan.base.threads import in_thread
from toolplan_workers.queue.dispatch import Dispatch, lock_of
from toolplan_workers.queue.procrastinate import Job

_LOG: Final = logging.getLogger(__name__)
SILENT_S: Final = 10.0
"""Seconds without a sign of life after which a worker has its jobs no more; its leases decide."""


class Watch:
    """One look at all workers after another, by each of them.

    A worker holds a lock of its session from before it takes anything until it is gone. Who looks
    at a free lock knows that its worker is dead: the token of each of its leases is raised, so that
    what it would still write is refused, and its jobs are put back. It may have been alive: then
    it notices with its next write.
    """

    def __init__(self, dispatch: Dispatch, me: str) -> None:
        self._dispatch = dispatch
        self._me = me
        self._forgotten: set[int] = set()

    async def look(self, busy: set[int]) -> None:
        """Requeue the jobs of dead workers; `busy` are the jobs that this process works on.

        Raises:
            JournalError: the database cannot be used.
        """
        workers, dead = await in_thread(self._ask)
        numbers = {number for name, number, _ in workers if name in dead}
        mine = {number for name, number, _ in workers if name == self._me}
        queue = self._dispatch.queue
        if dead:
            await in_thread(self._revoke, dead)
        for job in await queue.doing() if dead or len(mine) > 1 else ():
            if job.worker in numbers or (job.worker in mine and job.number not in busy):
                await queue.back(job)
        for name in dead:
            await in_thread(self._dispatch.leave, name)

    async def look_for_silent(self, busy: set[int]) -> list[Job]:
        """Put back the jobs of workers that hang, or that the queue does not know.

        The session of one that hangs is ended: as long as it lasts it keeps its name.

        Raises:
            JournalError: the database cannot be used.
        """
        silent = await self._dispatch.queue.stalled(SILENT_S)
        if numbers := {job.worker for job in silent if job.number not in busy}:
            await in_thread(self._end_sessions, numbers)
        return [
            job for job in silent if job.number not in busy and await self._dispatch.queue.back(job)
        ]

    async def look_for_forgotten(self, busy: set[int]) -> None:
        """Put back jobs that this worker has, as the queue says, and does not work on.

        Their end was lost with a connection. A job that was taken just now, or ends just now, is
        not one at the next look.

        Raises:
            JournalError: the database cannot be used.
        """
        workers = await in_thread(self._dispatch.workers)
        mine = {number for name, number, _ in workers if name == self._me}
        doing = await self._dispatch.queue.doing()
        found = {each.number: each for each in doing if each.worker in mine}
        idle = found.keys() - busy
        for number in idle & self._forgotten:
            await self._dispatch.queue.back(found[number])
        self._forgotten = idle - self._forgotten

    async def look_for_lost(self, queue: str) -> None:
        """Put back runs of `queue` that have no job, although somebody must continue them.

        Raises:
            JournalError: the database cannot be used.
        """
        for run in await in_thread(self._dispatch.put_lost, queue):
            _LOG.warning("Run %s had no job, and is put back.", run)

    def _ask(self) -> tuple[list[tuple[str, str, str]], set[str]]:
        """Return all workers, and the names of those that are dead."""
        workers = self._dispatch.workers()
        names = sorted({name for name, _, _ in workers if name != self._me})
        free = self._dispatch.journal.locks.free([lock_of(name) for name in names])
        return workers, {name for name in names if lock_of(name) in free}

    def _end_sessions(self, numbers: set[str]) -> None:
        """End the sessions of the workers with these numbers in the queue."""
        workers = self._dispatch.workers()
        names = {name for name, number, _ in workers if number in numbers and name != self._me}
        for name in sorted(names):
            _LOG.warning("Worker %s is silent; what it has is given to others.", name)
        self._dispatch.journal.locks.end_sessions([lock_of(name) for name in sorted(names)])

    def _revoke(self, dead: set[str]) -> None:
        journal = self._dispatch.journal
        for run, owner in journal.held().items():
            if owner in dead:
                journal.revoke(run, owner)
