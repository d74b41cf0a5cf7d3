"""The local engine: plans run in this process, with events in memory or in a journal."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from types import MappingProxyType
from typing import Final, Protocol, Unpack, cast, runtime_checkable

from toolplan.base.errors import ToolplanError
from toolplan.engine._calls import Clock, Options, RunOptions, check_plan, tools_of
from toolplan.engine._execution import Execution, Leaving
from toolplan.engine._recorder import EventRecorder
from toolplan.engine._runs import (
    Decided,
    RunApproval,
    continue_run,
    finish,
    frozen,
    new_scheduler,
    record_of,
    start,
)
from toolplan.engine._steps import Scheduler
from toolplan.events import Event, PlanSettled, Run, RunStarted, StepArrived
from toolplan.plan.model import Limits, Step, needs
from toolplan.policy.approval import Approval, Approver
from toolplan.policy.consent import NO_CONSENTS, Consent, ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool
from toolplan.storage.journal import Slot, Store

_LIMITS: Final = Limits()
_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


async def run(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    journal: Store | None = None,
    approval: Approval | Approver | ValueApproval | None = None,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    run_id: str = "",
    done: Sequence[Event] = (),
    clock: Clock = time.time,
    leaving: Leaving | None = None,
    syncs: bool = True,
    **options: Unpack[Options],
) -> Run:
    """Run `plan` and return the finished run.

    A tool that fails fails only its own step; the returned run says so, and nothing is raised.
    Cancelling this coroutine cancels every call, emits `StepCancelled` for each step that was not
    over, then `RunEnded`, and raises `CancelledError`.

    A call with effects whose outcome is unknown, and which may not be repeated, leaves its step
    `in_doubt`. The other steps continue, and the returned run is `in_doubt`.

    Args:
        plan: the plan of `compile_plan`.
        tools: at least the tools that the plan calls.
        journal: where the events are kept, so that the run can be resumed; None keeps them in
            memory. The run is on disk before the first call, and the intent of each call with
            effects before that call.
        approval: the approval of a plan with effects, or a function that is called with the plan
            while the run is `waiting`. A `ValueApproval` lets reads run first, and each call with
            effects wait until its values are known and approved.
        limits: `steps`, `items`, `calls` and `depth` (of results) apply to a run.
        on_event: called with every event, in the thread of the event loop. If it raises, the error
            goes to the loop's exception handler and it is not called again; the run continues.
        run_id: the name of the run; empty for a new one.
        done: events of an earlier run whose steps are not run again (`toolplan.engine.deltas`).
        clock: seconds since the epoch, for events; timeouts use the loop's monotonic clock.
        leaving: asks the run to leave, so that another process can resume it; it is returned as
            `running`.
        syncs: whether a run without effects survives a power cut, as one with effects always does.
        options: the fields of `RunOptions`.

    Raises:
        CannotRun: `plan` is not an ExecutionPlan, a tool is missing or cannot be called, the plan
            has more steps than `limits` allow, or `done` is not of this plan. No call was made.
        ApprovalRequired: the plan has effects and no approval with its digest. No call was made.
        ApprovalUsed: another run has used the approval. No call was made.
        JournalError: the journal cannot be written. What is on disk can be resumed.
        ValueError: a concurrency option is less than 1.
    """
    check_plan(plan)
    name = run_id or uuid.uuid4().hex
    execution = _execution(
        name, tools, journal, approval, limits, on_event, clock, options, leaving
    )
    return await start(plan, execution, done, syncs=syncs)


async def run_stream(
    stream: StepStream,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    journal: Store | None = None,
    approval: Approval | Approver | ValueApproval | None = None,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    run_id: str = "",
    clock: Clock = time.time,
    **options: Unpack[Options],
) -> Run:
    """Run a plan while it is still being written, and return the finished run.

    Steps that only read start as soon as they arrive and their inputs are there. Steps with effects
    wait until the plan is complete, checked and approved. The journal gets the run at that moment.

    `stream` is that of `compile_stream`; the other arguments are as for `run`. An approver is
    called when the plan is complete.

    Raises:
        StreamRefused: the stream ended early, the plan is wrong, or differs from the steps that
            arrived. The steps that had started were cancelled; none of them had effects.
        CannotRun, ApprovalRequired, ApprovalUsed, JournalError, ValueError: as for `run`; what had
            started was cancelled.
        Exception: what the stream raised.
    """
    name = run_id or uuid.uuid4().hex
    execution = _execution(name, tools, journal, approval, limits, on_event, clock, options)
    given = cast("object", stream)
    if not isinstance(given, AsyncIterable) or isinstance(given, AsyncGenerator):
        raise _no_stream(cast("object", given))
    recorder = execution.recorder
    scheduler = new_scheduler(execution)
    recorder.add(RunStarted(name, "", (), clock()))
    feeding = asyncio.get_running_loop().create_task(_feed(stream, execution, scheduler))
    try:
        await scheduler.run()
    except StreamRefused as refused:
        refused.run = recorder.run()
        raise
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        await finish(execution, scheduler)
    return recorder.run()


async def resume(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    run_id: str,
    *,
    journal: Store,
    approval: Approval | Approver | ValueApproval | None = None,
    decisions: Mapping[Slot, Decided] = _NO_DECISIONS,
    consents: Mapping[str, Consent] = NO_CONSENTS,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    clock: Clock = time.time,
    leaving: Leaving | None = None,
    **options: Unpack[Options],
) -> Run:
    """Resume a run that was interrupted, was cancelled, or waits for a person.

    Steps that are over are taken from the journal. A call with effects that has started and has no
    result is repeated, with the same idempotency key, if its tool may be repeated; otherwise it
    stays in doubt until `decisions` has a decision. A run that has ended is returned as it is.

    Args:
        plan: the run's plan, compiled again from the record in the journal.
        tools: the tools of the run, unchanged.
        run_id: the name of the run.
        journal: where the run is kept.
        approval: as for `run`, if the run has no approval yet.
        decisions: for each call in doubt its step and item (None without `for_each`), and the
            decision.
        consents: for steps with calls that wait for a person, whether they may be made.
        limits: as for `run`; earlier calls do not count.
        on_event: called with every new event.
        clock: seconds since the epoch.
        leaving: asks the run to leave, so that another process can resume it.
        options: the fields of `RunOptions`.

    Raises:
        CannotRun: the plan or a tool is not that of the run, or a decision names a call that is not
            in doubt, or does not wait. No call was made.
        ApprovalRequired: the plan has effects and was not approved.
        JournalError: there is no such run, another process works on it, or the journal cannot be
            written.
        ValueError: a concurrency option is less than 1.
    """
    check_plan(plan)
    execution = _execution(
        run_id, tools, journal, approval, limits, on_event, clock, options, leaving
    )
    return await continue_run(plan, execution, decisions, consents)


def _execution(
    name: str,
    tools: Mapping[str, Tool] | Sequence[Tool],
    journal: Store | None,
    approval: Approval | Approver | ValueApproval | None,
    limits: Limits,
    on_event: Callable[[Event], None] | None,
    clock: Clock,
    given: Options,
    leaving: Leaving | None = None,
) -> Execution:
    options = RunOptions(**given)
    single = (*options.tool_concurrency.values(), *options.source_concurrency.values())
    if min((options.concurrency, *single)) < 1:
        raise ValueError("At least one call must be allowed to run.")
    recorder = EventRecorder(journal, on_event, timeout_s=options.journal_timeout_s)
    return Execution(name, tools_of(tools), recorder, approval, limits, options, clock, leaving)


class CompleteStream(Protocol):
    """The result of a stream that has ended."""

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan, or None if it has errors."""
        ...


class StepStream(Protocol):
    """The steps of a plan as they are written, and the plan at the end; see `compile_stream`."""

    def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete; the iterator may be `Closable`."""
        ...

    @property
    def compiled(self) -> CompleteStream:
        """The result, read after the last step."""
        ...


@runtime_checkable
class Closable(Protocol):
    """An iterator that can be closed early, as an asynchronous generator can."""

    async def aclose(self) -> None:
        """Yield nothing more."""


class StreamRefused(ToolplanError):
    """A streamed plan cannot be run; the steps that had started were cancelled.

    Attributes:
        run: the state of the run at that moment.
    """

    def __init__(self, message: str) -> None:
        super().__init__("stream-refused", message)
        self.run = Run()


def _no_stream(given: object) -> TypeError:
    return TypeError(
        "run_stream takes a stream of steps, as toolplan.compile_stream(chunks, tools=tools) makes"
        f" it of text; it was given {type(given).__name__!r}."
    )


async def _feed(stream: StepStream, execution: Execution, scheduler: Scheduler) -> None:
    """Admit the steps of `stream`, then the rest of the plan; an error ends the run."""
    arrived: dict[str, Step] = {}
    steps = aiter(stream)
    try:
        async for step in steps:
            if not isinstance(cast("object", step), Step):
                raise _no_stream(step)
            if step.id in arrived:
                raise StreamRefused(f"The step {step.id!r} was given twice.")
            arrived[step.id] = step
            scheduler.admit([step], needs, hold_effects=True)
            execution.recorder.add(StepArrived(step.id, execution.clock()))
            scheduler.start()
        await _complete(stream.compiled.plan, arrived, execution, scheduler)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # the caller of the run gets it
        scheduler.ending.abandon(error)
    finally:
        if isinstance(steps, Closable):
            await steps.aclose()


async def _complete(
    plan: ExecutionPlan | None,
    arrived: Mapping[str, Step],
    execution: Execution,
    scheduler: Scheduler,
) -> None:
    """Admit the steps of `plan` that have not arrived, and start those with effects.

    The run is then in the journal.
    """
    if plan is None:
        raise StreamRefused("The plan does not pass the check; what had started was cancelled.")
    steps = {step.id: step for step in plan.plan.steps}
    other = [name for name, step in arrived.items() if steps.get(name) != step]
    if other:
        names = ", ".join(map(repr, other))
        raise StreamRefused(f"These steps were given, and are not in the plan: {names}.")
    runnable, recorder = frozen(plan, execution.tools), execution.recorder
    rest = [step for step in runnable.plan.plan.steps if step.id not in arrived]
    # what has started only reads, and no argument of it is looked at
    if (failure := scheduler.flow_checks.plan_is(runnable.plan)) is not None:
        raise StreamRefused(failure.message)
    scheduler.admit(rest, needs, hold_effects=True)
    recorder.add(PlanSettled(runnable.plan.digest, tuple(steps), execution.clock()))
    approval = RunApproval(execution, runnable, scheduler)
    approval.record()
    if recorder.is_journaled:
        record = record_of(runnable.plan, execution.tools)
        await recorder.accept(execution.name, runnable.plan.digest, record)
    if approval.must_ask:
        await approval.ask()
    scheduler.complete(runnable.plan.plan.output)
    scheduler.allow(approval.slots)
    scheduler.start()
