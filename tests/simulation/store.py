"""A disk that fails by seed: before a commit or after it, for a while or for good.

What was not synced is lost in a power cut, or alone, while the process lives on: as a server of
Postgres that starts again loses what it had not synced, and its clients know nothing of it.
"""

import random
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.simulation.loop import pause
from toolplan.events import Event, RunApproved
from toolplan.storage.journal import Journal, JournalError, Lease, RunRecord
from toolplan.storage.journal.worker import Done

_CODES = ("journal-locked", "journal-full", "journal-read-only", "journal-unavailable")


class Faults(NamedTuple):
    """How often a write fails, and whether the disk fails for good at some write."""

    before: float = 0.0
    after: float = 0.0
    dead_from: int | None = None


class SimulatedWorker:
    """Does what blocks after a while, one after the other, in the loop's own thread."""

    def __init__(self, chance: random.Random) -> None:
        self.pause_after = 0
        """After so many writes the process stands still, before anyone knows of the last."""
        self._chance = chance
        self._free_at = 0.0

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Have `work` done, then `done` called in `loop` with what it raised, or None."""

        def job() -> None:
            error: BaseException | None = None
            try:
                work()
            except Exception as raised:
                error = raised
            loop.call_later(self._chance.random() * 0.001, finish, error)

        def finish(error: BaseException | None) -> None:
            self.pause_after -= 1
            if not self.pause_after:
                loop.call_soon(pause)
            done(error)

        stall = self._chance.random() * (5.0 if self._chance.random() < 0.02 else 0.004)
        self._free_at = max(self._free_at, loop.time()) + stall
        loop.call_at(self._free_at, job)


class SimulatedJournal(Journal):
    """The real journal, with faults; it remembers what is on disk for sure.

    `token` is that of its lease. `synced` are the records that survive a power cut, `written` all
    that are in the file.
    `has_lease` says whether the run was this process's own at some time, and `has_approval` whether
    its approval is on disk.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        owner: str,
        chance: random.Random,
        last_sync: int = 0,
        age_clock: Callable[[], float] = lambda: 0.0,
        boot: str = "",
    ) -> None:
        self.simulated_worker = SimulatedWorker(chance)
        super().__init__(
            path,
            clock=clock,
            owner=owner,
            lease_s=10.0,
            worker=self.simulated_worker,
            age_clock=age_clock,
            boot=boot,
        )
        self.token: tuple[str, int] | None = None
        self.faults = Faults()
        self.written: set[str] = set()
        self.synced: set[str] = set()
        self.last_sync = last_sync
        self.has_lease = self.has_approval = False
        self._chance = chance
        self._writes = 0

    def accept(
        self, run: str, digest: str, record: RunRecord, events: Sequence[Event], sync: bool = True
    ) -> Lease:
        """Put a new run on disk."""
        self._fail(self.faults.before)
        lease = super().accept(run, digest, record, events, sync=sync)
        self.last_sync = lease.at
        self.has_lease = True
        self.token = self.token_of(run)
        self.has_approval = any(isinstance(event, RunApproved) for event in events)
        return lease

    def append(self, lease: Lease, texts: Sequence[str], at: int, **how: Any) -> None:
        """Put records on disk, or fail, or fail after it was done."""
        self._fail(self.faults.before)
        super().append(lease, texts, at, **how)
        self.written.update(texts)
        if how["sync"]:
            self.synced |= self.written
            self.last_sync = at + len(texts)
        self._fail(self.faults.after)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Put an approval on disk."""
        super().approve(lease, event, at)
        self.last_sync = at + 1
        self.has_approval = True

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Make the run this process's own."""
        lease = super().take(run, watched)
        self.token = self.token_of(run)
        self.last_sync = lease.at
        self.has_lease = True
        self.has_approval = any(isinstance(event, RunApproved) for event in self.events(run))
        return lease

    def lose_unsynced(self, run: str) -> None:
        """Lose what was not synced."""
        self._driver.connection.execute(
            "DELETE FROM events WHERE run = ? AND seq >= ?", (run, self.last_sync)
        )
        self._driver.connection.execute(
            "UPDATE runs SET next_seq = min(next_seq, ?) WHERE run = ?", (self.last_sync, run)
        )
        self.written = set(self.synced)

    def end_lease(self, run: str) -> None:
        """Let the run belong to nobody."""
        self._driver.connection.execute("UPDATE runs SET beat = -1e9 WHERE run = ?", (run,))

    def token_of(self, run: str) -> tuple[str, int] | None:
        """Return the process that the run belongs to and its fencing token, None for no run."""
        found = self._driver.connection.execute(
            "SELECT owner, token FROM runs WHERE run = ?", (run,)
        )
        row = found.fetchone()
        return None if row is None else (str(row[0]), int(row[1]))

    def _fail(self, often: float) -> None:
        self._writes += 1
        dead = self.faults.dead_from is not None and self._writes >= self.faults.dead_from
        if dead or self._chance.random() < often:
            raise JournalError(self._chance.choice(_CODES), "The simulated disk refuses.")
