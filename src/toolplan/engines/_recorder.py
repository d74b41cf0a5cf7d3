"""The events of one run: folded, shown, and put into the journal where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from toolplan.events import Event, Folding, Run, RunApproved, StepProgressed
from toolplan.storage.journal import Journal, JournalError, Lease, RunRecord, Writer, settle

T = TypeVar("T")


class EventRecorder:
    """Takes each event as it happens.

    Without a journal, or before the run is accepted by it, events are only folded and shown; those
    before it are kept, to be accepted with it. `on_failure` is called when the journal fails for
    good, `on_room` when calls may start again after it was full.
    """

    def __init__(
        self,
        journal: Journal | None,
        on_event: Callable[[Event], None] | None,
        *,
        patience_s: float,
    ) -> None:
        self._journal = journal
        self._on_event = on_event
        self._patience_s = patience_s
        self._folding = Folding()
        self._before: list[Event] | None = None if journal is None else []
        self._lease: Lease | None = None
        self._writer: Writer | None = None
        self.on_failure: Callable[[JournalError], None] = _nothing
        self.on_room: Callable[[], None] = _no_room

    @property
    def sink(self) -> Callable[[Event], None]:
        """What takes the events: the shortest way for a run that nobody watches or keeps."""
        if self._journal is None and self._on_event is None:
            return self._folding.add
        return self.add

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._folding.add(event)
        if self._writer is not None:
            self._writer.add(event)
        elif self._before is not None and not isinstance(event, StepProgressed):
            self._before.append(event)
        if self._on_event is not None:
            self._show(event)

    def run(self) -> Run:
        """Return the run as it stands."""
        return self._folding.run()

    @property
    def is_journaled(self) -> bool:
        """Whether there is a journal, or will be when the run is accepted."""
        return self._journal is not None

    @property
    def full(self) -> bool:
        """Whether so much waits for the disk that nothing more should be started."""
        return self._writer is not None and self._writer.full

    async def synced(self) -> None:
        """Wait until all events so far are on disk.

        Raises:
            JournalError: they cannot be put there.
        """
        if self._writer is not None:
            await self._writer.synced()

    async def accept(self, run: str, digest: str, record: RunRecord) -> None:
        """Put the run on disk with the events so far; from now on events go there.

        Raises:
            JournalError: it cannot be put there.
        """
        journal = self._journal
        if journal is None:
            return
        events, self._before = self._before or [], []
        try:
            await self._take(journal, lambda: journal.accept(run, digest, record, events))
        finally:
            self.write()

    async def approve(self, event: RunApproved) -> None:
        """Take an approval; where there is a journal, it is on disk first.

        Raises:
            JournalError: another run has used it, or it cannot be put there.
        """
        if self._writer is not None:
            await self._writer.approve(event)
        elif self._before is not None:
            self._before.append(event)
        self._folding.add(event)
        if self._on_event is not None:
            self._show(event)

    async def take_over(self, run: str) -> list[Event]:
        """Make the run in the journal this process's own, and give its events.

        Raises:
            JournalError: there is no such run, or somebody works on it.
        """
        journal = self._journal
        if journal is None:
            return []
        try:
            await self._take(journal, lambda: journal.take(run))
            events = await self._in_worker(journal, lambda: journal.events(run))
        except BaseException:
            await self.let_go()
            raise
        for event in events:
            self._folding.add(event)
        return events

    async def record(self, run: str) -> RunRecord:
        """Return what the run was started with.

        Raises:
            JournalError: there is no such run, or no journal.
        """
        journal = self._journal
        if journal is None:
            raise JournalError("unknown-run", f"There is no run {run!r}, for there is no journal.")
        return await self._in_worker(journal, lambda: journal.record(run))

    async def let_go(self) -> None:
        """Return a run back that was taken and is not gone on with."""
        journal, lease = self._journal, self._lease
        if journal is not None and lease is not None and self._writer is None:
            await self._in_worker(journal, lambda: journal.release(lease))

    def write(self) -> None:
        """Let events go to the journal, where the run was accepted or taken."""
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
            patience_s=self._patience_s,
        )
        for event in self._before or ():  # what happened while the run was being accepted
            self._writer.add(event)
        self._before = None

    async def finish(self, durations: Sequence[tuple[str, float]]) -> None:
        """Wait until all is on disk, and let the run go.

        Raises:
            JournalError: it cannot be put there.
        """
        journal, writer, lease = self._journal, self._writer, self._lease
        if journal is None or writer is None or lease is None:
            return
        try:
            await writer.synced()
            if durations:
                await self._in_worker(journal, lambda: journal.keep_durations(durations))
            await self._in_worker(journal, lambda: journal.release(lease))
        finally:
            writer.close()
            journal.forget(lease)

    async def _take(self, journal: Journal, work: Callable[[], Lease]) -> None:
        """Take the lease that `work` gives, even where this is cancelled before that is done.

        So it can be let go of: else nobody could go on with the run until the lease is over.
        """
        taking = asyncio.ensure_future(self._in_worker(journal, work))
        try:
            self._lease = await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait([taking])
            if taking.exception() is None:
                self._lease = taking.result()
            raise

    async def _in_worker(self, journal: Journal, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        results: list[T] = []

        journal.worker.submit(
            loop, lambda: results.append(work()), lambda error: settle(done, error)
        )
        await done
        return results[0]

    def _show(self, event: Event) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # a display that fails must not take the run with it
            self._on_event = None
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_event failed and is not called again", "exception": error}
            )


def _nothing(error: JournalError) -> None:
    raise error


def _no_room() -> None:
    """Do nothing: nobody has been held back."""
