"""The events of one run: folded, reported, and written to the journal if there is one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from toolplan.events import (
    CallIntended,
    Event,
    Folding,
    Run,
    RunApproved,
    RunState,
    StepProgressed,
)
from toolplan.storage.journal import (
    JournalError,
    Lease,
    LeaseHeld,
    RecordsLost,
    RunRecord,
    Store,
    Writer,
    recover,
    settle,
    to_record,
)

_LOG: Final = logging.getLogger(__name__)
_PAUSE_S: Final = 0.05
_RELEASE_S: Final = 1.0
"""How long the lease of a run that is over is tried to be released: its result waits for that."""

T = TypeVar("T")


class EventRecorder:
    """Folds each event, reports it, and writes it to the journal once the run is accepted there.

    Earlier events are kept until then. `on_failure` is called when the journal fails for good,
    `on_room` when calls may start again after too many events waited for the disk. `syncs` is
    False for a run that a power cut may take away.
    """

    def __init__(
        self,
        journal: Store | None,
        on_event: Callable[[Event], None] | None,
        *,
        timeout_s: float,
    ) -> None:
        self._journal = journal
        self._on_event = on_event
        self._timeout_s = timeout_s  # of a journal that cannot be written
        self._folding = Folding()
        self._before: list[Event] | None = None if journal is None else []
        self._lease: Lease | None = None
        self._earlier: list[CallIntended] = []
        self._writer: Writer | None = None
        self.on_failure: Callable[[JournalError], None] = _raise
        self.on_room: Callable[[], None] = lambda: None
        self.syncs = True

    @property
    def sink(self) -> Callable[[Event], None]:
        """The cheapest function that takes the events."""
        if self._journal is None and self._on_event is None:
            return self._folding.add
        return self.add

    def add(self, event: Event) -> None:
        """Record the next event."""
        self._folding.add(event)
        if self._writer is not None:
            self._writer.add(event)
        elif self._before is not None and not isinstance(event, StepProgressed):
            self._before.append(event)
        self._report(event)

    def run(self) -> Run:
        """Return the run so far."""
        return self._folding.run()

    @property
    def is_journaled(self) -> bool:
        """Whether there is a journal."""
        return self._journal is not None

    @property
    def full(self) -> bool:
        """Whether too many events wait for the disk to start more calls."""
        return self._writer is not None and self._writer.full

    async def synced(self) -> None:
        """Wait until all events so far are on disk.

        Raises:
            JournalError: they cannot be written.
        """
        if self._writer is not None:
            await self._writer.synced()

    async def accept(self, run: str, digest: str, record: RunRecord) -> None:
        """Write the run and its events so far to the journal; later events follow.

        Raises:
            JournalError: it cannot be written.
        """
        journal = self._journal
        if journal is None:
            return
        events, self._before = self._before or [], []
        try:
            await self._take(
                journal, lambda: journal.accept(run, digest, record, events, sync=self.syncs)
            )
        finally:
            self.write()

    async def approve(self, event: RunApproved) -> None:
        """Record an approval, on disk first if there is a journal.

        Raises:
            JournalError: another run has used it, or it cannot be written.
        """
        if self._writer is not None:
            await self._writer.approve(event)
        elif self._before is not None:
            self._before.append(event)
        self._folding.add(event)
        self._report(event)

    async def take_over(
        self, run: str, read: Callable[[Store], tuple[T, list[Event]]]
    ) -> tuple[T, list[Event]]:
        """Take the lease of the run, and return what `read` returns: its events among them.

        Raises:
            JournalError: there is no such run, no journal, or another process works on the run.
        """
        journal = self._journal
        if journal is None:
            raise JournalError("unknown-run", f"There is no run {run!r}: there is no journal.")
        try:
            await self._take_lease(journal, run)
            record, events = await self._in_worker(journal, lambda: read(journal))
        except BaseException:
            await self.release()
            raise
        for event in events:
            self._folding.add(event)
        self._earlier = [each for each in events if isinstance(each, CallIntended)]
        return record, events

    @property
    def is_current(self) -> bool:
        """Whether the run belongs to this process for certain, at this moment."""
        return self._journal is None or self._lease is None or self._journal.is_current(self._lease)

    @property
    def previous_owner(self) -> str:
        """The process that had the run, if it still exists; else empty."""
        return "" if self._lease is None else self._lease.previous_owner

    async def release(self) -> None:
        """Release the lease of a run that is not resumed after all."""
        journal, lease = self._journal, self._lease
        if journal is not None and lease is not None and self._writer is None:
            await self._in_worker(journal, lambda: journal.release(lease))

    def write(self) -> None:
        """Write events to the journal from now on, if this process has the lease."""
        lease = self._lease
        if self._journal is None or lease is None:
            return
        self._writer = Writer(
            self._journal,
            lease,
            asyncio.get_running_loop(),
            worker=self._journal.worker,
            on_failure=lambda error: self.on_failure(error),
            on_room=lambda: self.on_room(),
            timeout_s=self._timeout_s,
            syncs=self.syncs,
        )
        for event in self._before or ():  # events of the time in which the run was accepted
            self._writer.add(event)
        self._before = None

    async def finish(self, durations: Sequence[tuple[str, float]]) -> None:
        """Wait until everything is on disk, and release the lease.

        Raises:
            JournalError: it cannot be written, and the run is not over. Of a run that is over, a
                warning is logged: its result is known, and is worth more.
        """
        journal, writer, lease = self._journal, self._writer, self._lease
        if journal is None or writer is None or lease is None:
            return
        is_over = self.run().status not in (RunState.RUNNING, RunState.WAITING)
        if is_over:
            self.on_failure = lambda error: None  # there is nothing to stop
        left = [*durations]
        failures: list[float] = []
        unreleased: list[JournalError] = []
        now = asyncio.get_running_loop().time

        def end() -> None:
            try:
                if left:
                    journal.keep_durations(lease.run, left)
                    left.clear()  # where the release has to be tried again
                journal.release(lease)
            except JournalError as error:
                failures.append(now())
                if not is_over or failures[-1] - failures[0] < _RELEASE_S:
                    raise
                unreleased.append(error)  # its records are written, and its lease expires

        try:
            await writer.synced(end)
            for error in unreleased:
                text = "The lease of run %s could not be released, and will expire: %s"
                _LOG.warning(text, lease.run, error)
        except JournalError as error:
            if isinstance(error, RecordsLost):
                await self._keep_lost_intents(
                    journal, lease.run, [*self._earlier, *writer.intended]
                )
            if not is_over:
                raise
            # the result of the run is known, and matters more than the failed write
            _LOG.warning("The end of run %s could not be kept in the journal: %s", lease.run, error)
        finally:
            writer.close()
            journal.forget(lease)

    async def _keep_lost_intents(
        self, journal: Store, run: str, intended: Sequence[CallIntended]
    ) -> None:
        """Write intents again that the journal has lost: their calls are then in doubt."""
        named: list[str] = []

        def work() -> None:
            lease = journal.take(run)
            try:
                known = recover(journal.events(run))
                lost = [each for each in intended if known.knows_less_than(each)]
                records = [to_record(each) for each in lost]
                if records:
                    journal.append(lease, records, lease.at, sync=True)
                named.extend(map(_call_name, lost))
            finally:
                journal.release(lease)

        try:
            await self._patiently(journal, work)
        except JournalError as error:  # another process has the run, or it is lost itself
            named = [*map(_call_name, intended)]
            _LOG.warning("Calls of run %s, %s, are in no journal: %s", run, ", ".join(named), error)
        if named and run in journal.records_lost:
            calls = f" Calls whose outcome is not known: {', '.join(dict.fromkeys(named))}."
            journal.records_lost[run] += calls

    async def _take_lease(self, journal: Store, run: str) -> None:
        """Take the lease of a run; where only time can show whether it is free, wait and see."""
        try:
            return await self._take(journal, lambda: journal.take(run))
        except LeaseHeld as held:
            mark = held.mark
            if mark is None:
                raise
            text = "%s It is not known whether it still works; this takes %g s to find out."
            _LOG.warning(text, held, journal.lease_s)
        await asyncio.sleep(journal.lease_s)
        return await self._take(journal, lambda: journal.take(run, mark))

    async def _take(self, journal: Store, work: Callable[[], Lease]) -> None:
        """Keep the lease that `work` returns, even if this is cancelled meanwhile.

        Otherwise it could not be released, and the run not be resumed until the lease expires.
        """
        taking = asyncio.ensure_future(self._patiently(journal, work))
        try:
            self._lease = await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait([taking])
            if taking.exception() is None:
                self._lease = taking.result()
            raise

    async def _patiently(self, journal: Store, work: Callable[[], T]) -> T:
        """Return what `work` returns; try again while the journal is locked."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout_s
        while True:
            try:
                return await self._in_worker(journal, work)
            except JournalError as error:
                if error.code != "journal-locked" or loop.time() >= until:
                    raise
            await asyncio.sleep(_PAUSE_S)

    async def _in_worker(self, journal: Store, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        results: list[T] = []

        journal.worker.submit(
            loop, lambda: results.append(work()), lambda error: settle(done, error)
        )
        await done
        return results[0]

    def _report(self, event: Event) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # a display that fails must not end the run
            self._on_event = None
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_event failed and is not called again", "exception": error}
            )


def _call_name(intended: CallIntended) -> str:
    step, item = intended.step, intended.item
    return step if item is None else f"{step}:{item}"


def _raise(error: JournalError) -> None:
    raise error
