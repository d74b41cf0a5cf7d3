"""The work of one worker on one job: it resumes the run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.workers import Worked
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun, Leaving, cancel, resume
from toolplan.events import (
    Event,
    ItemEnded,
    Run,
    RunState,
    StepFailed,
    StepSkipped,
    StepSucceeded,
    fold,
)
from toolplan.policy.approval import Approver, decided_by, said_yes
from toolplan.schema.tool_call import on_day
from toolplan.storage.journal import JournalError, Recovered, RunRecord, recover
from toolplan.storage.journal.worker_runs import COUNTED
from toolplan_workers import inbox
from toolplan_workers.inbox import Read
from toolplan_workers.queue.dispatch import Dispatch, Message
from toolplan_workers.queue.procrastinate import Again, Job
from toolplan_workers.slots import RunSlots, Slots

MOST_LIVES: Final = 10
"""Number of consecutive workers that ended without progress after which a run is parked."""
_SUSPECT_LIVES: Final = 2
"""Number of consecutive worker deaths from which on a run is a suspect, and runs alone."""
_RESERVED_PAUSE_S: Final = 0.5
"""Seconds before a run is offered again that a worker refused because of a suspect."""
_PROGRESS: Final = (StepSucceeded, StepFailed, StepSkipped, ItemEnded)
_DIED: Final = (
    f"{MOST_LIVES} workers in a row ended while they had this run, and it came no further. A tool"
    " may end its process."
)

_LOG: Final = logging.getLogger(__name__)


class _Stored(Struct, frozen=True):
    """A run as the journal has it."""

    record: RunRecord
    events: Sequence[Event]
    recovered: Recovered
    run: Run
    messages: Sequence[Message]
    parked: str


class JobRunner:
    """Resumes runs, one for each job, until they end, wait, or are released."""

    def __init__(
        self,
        app: App,
        dispatch: Dispatch,
        queue: str,
        leaving: Leaving,
        limits: Mapping[str, Slots],
    ) -> None:
        self._app = app
        self._dispatch = dispatch
        self._queue = queue
        self._leaving = leaving
        self._limits = limits
        self._tasks: dict[str, asyncio.Task[Run]] = {}
        self._busy = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_reserved = False

    async def work(self, job: Job) -> None:
        """Resume the run of `job`; a cancellation of this says that a message may cancel the run.

        It ends nothing by itself: the queue would forget a job that ends so.

        Raises:
            Again: another process has the run, or the database cannot be used: try later.
        """
        if self._leaving.is_asked:
            raise Again(0.0)
        task, me = asyncio.create_task(self._work(job)), asyncio.current_task()
        is_asked = False
        while not task.done():
            try:
                if is_asked:
                    is_asked = False
                    with suppress(JournalError):  # the watch asks again
                        await self.obey_cancellations()
                await asyncio.wait([task])
            except asyncio.CancelledError:
                is_asked = True
                if me is not None:
                    me.uncancel()
        task.result()

    async def _work(self, job: Job) -> None:
        try:
            await self._resume_job(job)
        except (Again, JournalError) as error:
            lost = self._dispatch.journal.records_lost.pop(job.run, "")
            if lost:  # its next worker would repeat the calls of the lost records
                _LOG.warning("Run %s is parked: %s", job.run, lost)
                await in_thread(self._dispatch.fence, job.run, lost)
            elif isinstance(error, Again):
                raise
            elif error.code != "unknown-run":  # else it was removed
                _LOG.info("Run %s is tried again: %s", job.run, error)
                raise Again(0.2 if error.code == "journal-taken" else 1.0) from None
        except ToolplanError as error:
            await self._park(job.run, error.with_help)
        except Exception as error:
            _LOG.exception("Run %s cannot be resumed.", job.run)
            await self._park(job.run, f"The worker failed: {type(error).__name__}: {error}")

    async def _resume_job(self, job: Job) -> None:
        stored = await in_thread(self._read, job.run)
        run, recovered = job.run, stored.recovered
        if recovered.status is not None:
            text = f"refused: the run is over; it {recovered.status.value}."
            return await self._answer([(each.number, text) for each in stored.messages])
        if stored.parked:  # a message to it wakes it up
            return None
        lives = await in_thread(self._dispatch.lives, run) if job.tries else 0
        async with self._room(alone=lives >= _SUSPECT_LIVES):
            if not job.tries:
                return await self._continue(run, stored)
            progress = sum(isinstance(each, _PROGRESS) for each in stored.events)
            if await in_thread(self._dispatch.note_life, run, progress) > MOST_LIVES:
                return await self._park(run, _DIED)
            try:
                return await self._continue(run, stored)
            finally:  # this life did not end in between
                await in_thread(self._dispatch.note_end_of_life, run)

    @asynccontextmanager
    async def _room(self, *, alone: bool) -> AsyncGenerator[None]:
        """Admit a run to this worker: beside others, or alone if it is a suspect.

        Raises:
            Again: a suspect has this worker for itself, or waits for it.
        """
        if self._is_reserved:
            raise Again(_RESERVED_PAUSE_S)
        if alone:
            self._is_reserved = True
            try:
                await self._is_idle.wait()
                yield
            finally:
                self._is_reserved = False
            return
        self._busy += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._is_idle.set()

    async def _continue(self, run: str, stored: _Stored) -> None:
        recovered = stored.recovered
        worked = await in_thread(self._app.workers.worked, stored.record)
        plan = worked.plan
        effects = bool(plan.effects)
        read = inbox.read_messages(stored.messages, stored.run.digest, recovered, effects)
        await self._answer(read.refused)
        if read.is_cancelled:
            await cancel(run, journal=self._dispatch.journal)
            return await self._answer(read.counted)
        is_allowed = recovered.approval or recovered.staged is not None or read.is_approved
        if effects and not is_allowed:
            text = "refused: the plan is not approved."
            return await self._answer([(number, text) for number, _ in read.counted])
        waits = stored.run.status is RunState.WAITING and recovered.staged is not None
        needless = waits or stored.run.status in (RunState.IN_DOUBT, RunState.CANCELLED)
        if needless and not stored.messages:
            return None  # an old job of it; a person sends the decision
        approval = None
        if read.is_approved and not recovered.approval:
            approval = said_yes(plan.digest)
        await self._resume(run, worked, approval, read)
        await self._answer(read.counted)
        if read.is_more:
            await in_thread(self._dispatch.put_again, run, self._queue)
        return None

    async def _resume(
        self, run: str, worked: Worked, approval: Approver | None, read: Read
    ) -> None:
        """Resume the run; an Again where the run is not over, although its engine may say so."""
        with on_day(worked.day), decided_by(read.by):
            task = asyncio.create_task(self._resumed(run, worked, approval, read))
        self._tasks.setdefault(run, task)
        try:
            await asyncio.wait([task])
        finally:
            # the queue may give this worker the run twice; the lease lets one of them work on it
            if self._tasks.get(run) is task:
                del self._tasks[run]
        is_left = not task.cancelled() and task.result().status is RunState.RUNNING
        if is_left and self._leaving.is_asked:
            await in_thread(self._dispatch.put_again, run, self._queue)
        elif (await in_thread(self._dispatch.journal.entry, run)).status is RunState.RUNNING:
            # its end could not be kept: another may have it
            if not task.cancelled():  # a message that cancels it has a job of its own
                raise Again
        elif task.cancelled():
            await self._answer_all(run, ("cancel",), COUNTED)

    async def obey_cancellations(self) -> None:
        """Cancel the runs of this process that are to be cancelled, as the database says."""
        if self._tasks:
            for run in await in_thread(self._dispatch.to_cancel, sorted(self._tasks)):
                if run in self._tasks:
                    self._tasks[run].cancel()

    async def _resumed(
        self, run: str, worked: Worked, approval: Approver | None, read: Read
    ) -> Run:
        names = {name for tool in self._app.tools.values() for name in (tool.name, tool.source)}
        limits = {n: RunSlots(each, run) for n, each in self._limits.items() if n in names}
        arguments = replace(worked.options, shared_limits=limits).arguments()
        try:
            return await resume(
                worked.plan,
                worked.tools,
                run,
                journal=self._dispatch.journal,
                approval=approval,
                decisions=read.decisions,
                consents=read.consents,
                limits=self._app.limits,
                leaving=self._leaving,
                **arguments,
            )
        except CannotRun as error:
            if not read.decisions and not read.consents:
                raise
            # a decision cannot be obeyed: which, the error says; nothing was called
            await self._answer_all(run, ("decide", "consent"), f"refused: {error}")
            return await in_thread(self._dispatch.journal.load, run)

    async def _answer_all(self, run: str, kinds: Collection[str], text: str) -> None:
        """Answer the messages of these kinds that have no answer yet."""
        messages = await in_thread(self._dispatch.messages, run)
        await self._answer([(each.number, text) for each in messages if each.kind in kinds])

    async def _park(self, run: str, reason: str) -> None:
        _LOG.warning("Run %s is parked: %s", run, reason)
        await in_thread(self._dispatch.park, run, reason)

    async def _answer(self, answers: Sequence[tuple[int, str]]) -> None:
        if answers:
            await in_thread(self._dispatch.answer, answers)

    def _read(self, run: str) -> _Stored:
        parked, messages = self._dispatch.waiting_for(run)
        record, events = self._dispatch.journal.whole(run)
        return _Stored(record, events, recover(events), fold(events), messages, parked)
