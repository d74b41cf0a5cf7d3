"""The local engine: a plan runs in this process, and how it went is kept in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from toolplan.approval import Approval, ApprovalRequired
from toolplan.engines._calls import Bounds, Clock
from toolplan.engines._steps import Scheduler
from toolplan.events import Event, Folding, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Limits
from toolplan.tools import Tool, Toolbox

_DEFAULT = Bounds()
_DEFAULT_LIMITS = Limits()


async def run(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    journal: None = None,
    approval: Approval | None = None,
    limits: Limits = _DEFAULT_LIMITS,
    on_event: Callable[[Event], None] | None = None,
    run_id: str = "",
    clock: Clock = time.time,
    concurrency: int = _DEFAULT.concurrency,
    timeout_s: float = _DEFAULT.timeout_s,
    backoff_s: float = _DEFAULT.backoff_s,
    grace_s: float = _DEFAULT.grace_s,
    result_size: int = _DEFAULT.result_size,
) -> Run:
    """Run `plan`, exactly as it is, and give how it went.

    Whatever a tool does, it fails its own step and nothing else: that is told by the run that is
    returned, not by an exception. Cancelling this coroutine cancels every call, emits
    `StepCancelled` for each step that was not over, then `RunEnded`, and raises `CancelledError`.

    Args:
        plan: what the compiler gave.
        tools: at least the tools that the plan calls.
        journal: None, the only kind there is yet: what happened is kept in memory.
        approval: leave to run a plan with effects, bound to the plan's digest.
        limits: `steps`, `items`, `calls` and `depth` (of results) hold for a run.
        on_event: called with every event as it happens, in the loop's own thread. The first
            exception that it raises is handed to the loop's exception handler, and it is not
            called again; the run goes on.
        run_id: the name of the run.
        clock: seconds since the epoch, for events; timeouts go by the loop's monotonic clock.
        concurrency: the most calls at once; further ones start in the order of the plan.
        timeout_s: seconds for each try of a call, where its step says nothing.
        backoff_s: seconds before the second try of a call; doubled before each further one.
        grace_s: seconds that cancelled calls have to end before they are left behind.
        result_size: the most characters and values that one result may have.

    Raises:
        CannotRun: a tool of the plan is not there, has no function or an unusable schema, or the
            plan has more steps than `limits` allow. No call was made.
        ApprovalRequired: the plan has effects and no approval of its own. No call was made.
        ValueError: `concurrency` is less than 1.
    """
    if concurrency < 1:
        raise ValueError("At least one call must be allowed to run.")
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    folding = Folding()
    scheduler = Scheduler(
        plan,
        known,
        emit=folding.add if on_event is None else _Tee(folding, on_event),
        clock=clock,
        limits=limits,
        bounds=Bounds(concurrency, timeout_s, backoff_s, grace_s, result_size),
    )
    _check_approval(plan, known, approval)
    await scheduler.run(run_id)
    return folding.run()


def _check_approval(
    plan: ExecutionPlan, tools: Mapping[str, Tool], approval: Approval | None
) -> None:
    # the tools that are here count as well: they may not be those that the plan was checked with
    effects = plan.effects or any(tools[step.tool].has_effects for step in plan.plan.steps)
    if effects and (approval is None or approval.digest != plan.digest):
        raise ApprovalRequired(plan.digest)


class _Tee:
    """Folds events and passes them on, until whoever takes them fails."""

    def __init__(self, folding: Folding, on_event: Callable[[Event], None]) -> None:
        self._folding = folding
        self._on_event: Callable[[Event], None] | None = on_event

    def __call__(self, event: Event) -> None:
        self._folding.add(event)
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # a display that fails must not take the run with it
            self._on_event = None
            asyncio.get_running_loop().call_exception_handler(
                {"message": "on_event failed and is not called again", "exception": error}
            )
