"""The local engine: a plan runs in this process, and how it went is kept in memory or a journal."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Unpack

from toolplan.approval import Approval, Approver
from toolplan.engines._calls import Clock, Options, RunOptions
from toolplan.engines._recorder import EventRecorder
from toolplan.engines._runs import Decided, Settings, go_on, start
from toolplan.engines._streamed import StepStream, start_stream
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Limits
from toolplan.storage.journal import Journal, Slot
from toolplan.tools import Tool, Toolbox

_LIMITS: Final = Limits()
_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


async def run(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    journal: Journal | None = None,
    approval: Approval | Approver | None = None,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    run_id: str = "",
    done: Sequence[Event] = (),
    clock: Clock = time.time,
    **options: Unpack[Options],
) -> Run:
    """Run `plan`, exactly as it is, and give how it went.

    Whatever a tool does, it fails its own step and nothing else: that is told by the run that is
    returned, not by an exception. Cancelling this coroutine cancels every call, emits
    `StepCancelled` for each step that was not over, then `RunEnded`, and raises `CancelledError`.

    A call with effects of which nobody knows what became of it, and which may not be made again,
    leaves its step in doubt; the other steps go on, and the run that is returned is `in_doubt`.

    Args:
        plan: what the compiler gave.
        tools: at least the tools that the plan calls.
        journal: where the events are kept, so that the run can be resumed; None keeps them in
            memory. The run is on disk before the first call, and a call with effects is made only
            when its intent is.
        approval: leave to run a plan with effects, bound to the plan's digest; or who is asked for
            it, while the run is kept as `waiting`.
        limits: `steps`, `items`, `calls` and `depth` (of results) hold for a run.
        on_event: called with every event as it happens, in the loop's own thread. The first
            exception that it raises is handed to the loop's exception handler, and it is not
            called again; the run goes on.
        run_id: the name of the run; a new one is made where it is empty.
        done: what an earlier run has done of the plan, as the events that told it, of steps of this
            plan (`toolplan.deltas`); these steps are not run again.
        clock: seconds since the epoch, for events; timeouts go by the loop's monotonic clock.
        options: how much at once and how long; the fields of `RunOptions`.

    Raises:
        CannotRun: a tool of the plan is not there, has no function or an unusable schema, the plan
            has more steps than `limits` allow, or `done` is not of this plan. No call was made.
        ApprovalRequired: the plan has effects and no approval of its own, or it is not what was
            approved. No call was made.
        ApprovalUsed: another run has used the approval. No call was made.
        JournalError: the journal cannot be written. What is on disk can be resumed.
        ValueError: a bound on calls at once is less than 1.
    """
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    settings = Settings(limits, RunOptions(**options), clock).checked()
    kept = EventRecorder(journal, on_event, patience_s=settings.options.patience_s)
    name = run_id or uuid.uuid4().hex
    return await start(plan, known, name, kept, approval, settings, done)


async def run_stream(
    stream: StepStream,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    journal: Journal | None = None,
    approval: Approval | Approver | None = None,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    run_id: str = "",
    clock: Clock = time.time,
    **options: Unpack[Options],
) -> Run:
    """Run a plan while it is still being written, and give how it went.

    Steps that only read start as soon as they are given and what they need is there. Steps with
    effects wait until the plan is whole, has passed its check and is approved. A journal gets the
    run at that moment too: until then nothing happened that would be worth keeping.

    Args:
        stream: what `compile_stream` gives.
        tools: at least the tools that the plan calls.
        journal: as for `run`.
        approval: as for `run`; it is asked for when the plan is whole.
        limits: as for `run`.
        on_event: as for `run`.
        run_id: as for `run`.
        clock: as for `run`.
        options: as for `run`.

    Raises:
        StreamRefused: the stream ended early, the plan is wrong, or not what its steps said.
            Everything that had started was cancelled; nothing with effects had.
        CannotRun, ApprovalRequired, ApprovalUsed, JournalError, ValueError: as for `run`;
            what had started was cancelled.
        Exception: what the stream raised.
    """
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    settings = Settings(limits, RunOptions(**options), clock).checked()
    kept = EventRecorder(journal, on_event, patience_s=settings.options.patience_s)
    name = run_id or uuid.uuid4().hex
    return await start_stream(stream, known, name, kept, approval, settings)


async def resume(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    run_id: str,
    *,
    journal: Journal,
    approval: Approval | Approver | None = None,
    decisions: Mapping[Slot, Decided] = _NO_DECISIONS,
    limits: Limits = _LIMITS,
    on_event: Callable[[Event], None] | None = None,
    clock: Clock = time.time,
    **options: Unpack[Options],
) -> Run:
    """Go on with a run that was interrupted, cancelled, or waits for a person.

    What is over is taken from the journal and not done again. A call with effects that was begun
    and has no result is made again where its tool may be repeated, with the same idempotency key;
    else it stays in doubt until `decisions` says what is to become of it. A run that has ended is
    given as it is.

    Args:
        plan: the run's plan, compiled again from what the journal keeps of it.
        tools: the tools of the run, unchanged.
        run_id: the name of the run.
        journal: where the run is kept.
        approval: leave to run a plan with effects, where the run has none yet.
        decisions: by step and item (None without `for_each`), what is to be done about calls in
            doubt.
        limits: as for `run`; calls that were made count no more.
        on_event: called with every new event.
        clock: seconds since the epoch.
        options: how much at once and how long; the fields of `RunOptions`.

    Raises:
        CannotRun: the plan or a tool is not that of the run, or a decision is about no call that is
            in doubt. No call was made.
        ApprovalRequired: the plan has effects, and nobody has approved them.
        JournalError: there is no such run, another process works on it, or the journal cannot be
            written.
        ValueError: a bound on calls at once is less than 1.
    """
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    settings = Settings(limits, RunOptions(**options), clock).checked()
    kept = EventRecorder(journal, on_event, patience_s=settings.options.patience_s)
    return await go_on(plan, known, run_id, kept, approval, decisions, settings)
