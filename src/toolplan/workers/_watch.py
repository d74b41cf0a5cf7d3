"""The watch over workers: what the dead had is given to others."""

from __future__ import annotations

from typing import Final

from toolplan.storage.queue import Dispatch, Job
from toolplan.threads import in_thread

SILENT_S: Final = 10.0
"""Seconds without a sign of life after which a worker has its jobs no more; its leases decide."""


def lock_of(worker: str) -> str:
    """Return the name of the lock that a worker holds while it lives."""
    return f"worker {worker}"


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

    async def look(self, busy: set[int]) -> None:
        """Requeue the jobs of dead workers; `busy` are the jobs that this process works on.

        Raises:
            JournalError: the database cannot be used.
        """
        workers = await in_thread(self._dispatch.workers)
        names = {name for name, _, _ in workers if name != self._me}
        dead = await in_thread(self._free, sorted(names))
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

        Raises:
            JournalError: the database cannot be used.
        """
        silent = await self._dispatch.queue.stalled(SILENT_S)
        return [
            job for job in silent if job.number not in busy and await self._dispatch.queue.back(job)
        ]

    def _free(self, names: list[str]) -> set[str]:
        free = self._dispatch.journal.locks.free([lock_of(name) for name in names])
        return {name for name in names if lock_of(name) in free}

    def _revoke(self, dead: set[str]) -> None:
        journal = self._dispatch.journal
        for run, owner in journal.held().items():
            if owner in dead:
                journal.revoke(run, owner)
