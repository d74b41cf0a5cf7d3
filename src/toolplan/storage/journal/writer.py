"""The writer of one run's events: many in one commit, on another thread.

While one group is written, the next one gathers, so a slow disk gets larger groups. Only callers of
`synced` wait.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import (
    CallIntended,
    Event,
    RunApproved,
    RunEnded,
    RunParked,
    RunResumed,
    RunState,
    StepProgressed,
    StepStarted,
    StepSucceeded,
)
from toolplan.storage.journal.errors import MAY_PASS, JournalError
from toolplan.storage.journal.leases import Lease
from toolplan.storage.journal.records import to_record
from toolplan.storage.journal.store import Store
from toolplan.storage.journal.worker import Worker, settle

GATHER_S: Final = 0.02
"""How long records gather if nobody waits for them: if the process ends meanwhile, calls that only
read are repeated, and a commit costs as much as writing fifty records."""

FULL: Final = 20_000
"""Maximum number of records that wait for the disk; beyond it no calls start."""

_FIRST_PAUSE_S: Final = 0.05
_MAX_PAUSE_S: Final = 1.0
_WARN_AFTER_S: Final = 1.0
"""After this time a warning is logged."""

_LOG: Final = logging.getLogger(__name__)


class _Batch(Struct):
    """Records for one commit, the state of the run after them, and those who wait for it."""

    texts: list[str] = []
    status: RunState | None = None
    waiters: list[Future[None]] = []
    then: Callable[[], None] | None = None


class Writer:
    """Writes the events of one run to the journal, in order.

    `on_failure` is called once, when the journal cannot be written for `timeout_s` seconds or
    another process has taken the run; later events are dropped. `on_room` is called when the
    journal is no longer `full`. A long wait for the journal is logged as a warning. Without `syncs`
    a power cut may lose also what `synced` has waited for.
    """

    def __init__(
        self,
        journal: Store,
        lease: Lease,
        loop: AbstractEventLoop,
        *,
        worker: Worker,
        on_failure: Callable[[JournalError], None],
        on_room: Callable[[], None],
        timeout_s: float,
        syncs: bool = True,
    ) -> None:
        self.failed: JournalError | None = None
        self._intended: list[CallIntended] = []
        self._intended_in_group = self._intended_written = 0
        self._journal = journal
        self._lease = lease
        self._at = lease.at  # the position of the next record
        self._loop = loop
        self._worker = worker
        self._on_failure = on_failure
        self._on_room = on_room
        self._timeout_s = timeout_s
        self._syncs = syncs
        self._waiting_for_room = False
        self._fans: set[str] = set()
        self._pending, self._group = _Batch(), _Batch()  # gathering, being written
        self._busy = False
        self._timer: TimerHandle | None = None
        self._failing_since: float | None = None
        self._has_warned = False
        self._pause_s = _FIRST_PAUSE_S
        self._heartbeat: TimerHandle | None = loop.call_later(journal.lease_s / 3, self._beat)

    @property
    def full(self) -> bool:
        """Whether too many records wait for the disk to start more calls."""
        self._waiting_for_room = len(self._pending.texts) >= FULL
        return self._waiting_for_room

    @property
    def intended(self) -> list[CallIntended]:
        """The intents that the journal has acknowledged: their calls may have been made."""
        return self._intended[: self._intended_written]

    def add(self, event: Event) -> None:
        """Add the next event."""
        if self.failed is not None:
            return
        if type(event) is StepStarted:
            if event.items is not None:
                self._fans.add(event.step)
        elif type(event) is StepSucceeded:
            if event.step in self._fans:
                event = replace(event, output=None)  # its items have it
        elif type(event) is CallIntended:
            self._intended.append(event)
        elif isinstance(event, StepProgressed):
            return
        elif isinstance(event, RunEnded | RunParked):
            self._pending.status = event.status
        elif isinstance(event, RunResumed):
            self._pending.status = RunState.RUNNING
        self._pending.texts.append(to_record(event))
        if self._timer is None and not self._busy:
            self._timer = self._loop.call_later(GATHER_S, self._flush)

    async def synced(self, then: Callable[[], None] | None = None) -> None:
        """Wait until all events so far are on disk and survive a power cut, and `then` is done.

        Raises:
            JournalError: they cannot be written.
        """
        if self.failed is not None:
            raise self.failed
        waiter: Future[None] = self._loop.create_future()
        self._pending.waiters.append(waiter)
        self._pending.then = then or self._pending.then
        if not self._busy:
            self._flush()
        await waiter

    async def approve(self, event: RunApproved) -> None:
        """Write an approval after all events so far.

        Raises:
            JournalError: another run has used it, or it cannot be written.
        """
        while self._busy or self._pending.texts:
            await self.synced()
        self._busy = True  # later events are written after it
        done: Future[None] = self._loop.create_future()

        def work() -> None:
            self._journal.approve(self._lease, event, self._at)

        def end(error: BaseException | None) -> None:
            if error is None:
                self._at += 1
            self._idle()
            settle(done, error)

        self._worker.submit(self._loop, work, end)
        await done

    def close(self) -> None:
        """Stop the timers; later events are dropped."""
        for timer in (self._timer, self._heartbeat):
            if timer is not None:
                timer.cancel()
        self._timer = self._heartbeat = None

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._group, self._pending = self._pending, _Batch()
        self._intended_in_group = len(self._intended)
        self._write()

    def _write(self) -> None:
        self._busy = True
        group, at = self._group, self._at
        sync = self._syncs and bool(group.waiters)

        def work() -> None:
            self._journal.append(self._lease, group.texts, at, sync=sync, status=group.status)
            if group.then is not None:
                group.then()

        self._worker.submit(self._loop, work, self._written)

    def _written(self, error: BaseException | None) -> None:
        if self.failed is not None:
            return
        if error is not None:
            self._retry_or_fail(error)
            return
        self._failing_since, self._has_warned = None, False
        self._pause_s = _FIRST_PAUSE_S
        self._at += len(self._group.texts)
        done, self._group = self._group, _Batch()
        self._intended_written = self._intended_in_group
        for waiter in done.waiters:
            settle(waiter, None)
        self._idle()
        if self._waiting_for_room and not self.full:
            self._on_room()

    def _idle(self) -> None:
        """Write what has gathered meanwhile."""
        self._busy = False
        if self._pending.waiters:
            self._flush()
        elif self._pending.texts:
            self._timer = self._loop.call_later(GATHER_S, self._flush)

    def _retry_or_fail(self, error: BaseException) -> None:
        """Retry after a pause, or fail."""
        now = self._loop.time()
        if self._failing_since is None:
            self._failing_since = now
        lasted_s = now - self._failing_since
        may_pass = isinstance(error, JournalError) and error.code in MAY_PASS
        if may_pass and lasted_s < self._timeout_s:
            if lasted_s >= _WARN_AFTER_S and not self._has_warned:
                self._has_warned = True
                _LOG.warning("%s The run waits up to %g s for it.", error, self._timeout_s)
            self._loop.call_later(self._pause_s, self._write_again)
            self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
            return
        if not isinstance(error, JournalError):
            text = f"The journal cannot be written: {type(error).__name__}: {error}"
            error = JournalError("journal-unavailable", text)
        self.failed = error
        self.close()
        for waiter in [*self._group.waiters, *self._pending.waiters]:
            if not waiter.done():
                waiter.set_exception(error)
                waiter.exception()  # retrieved: the waiter may be gone
        self._on_failure(error)

    def _write_again(self) -> None:
        if self.failed is None:
            self._write()

    def _beat(self) -> None:
        """Renew the lease while nothing else is written."""
        self._heartbeat = self._loop.call_later(self._journal.lease_s / 3, self._beat)
        if not self._busy and self._timer is None:
            self._flush()
