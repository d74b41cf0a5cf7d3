"""Detached runs: another process starts them, or ends them without running anything."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.engine._calls import Clock, callees, check_plan, tools_of
from toolplan.engine._recorder import EventRecorder
from toolplan.engine._runs import POLICY, approved, frozen, record_of
from toolplan.events import (
    ApprovalStaged,
    Event,
    Run,
    RunEnded,
    RunStarted,
    RunState,
    RunWaiting,
    StepCancelled,
)
from toolplan.plan.model import Limits
from toolplan.policy.approval import Approval, ApprovalRequired, approve
from toolplan.policy.consent import ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool
from toolplan.storage.journal import JournalError, RunRecord, Store, recover


class Prepared(Struct, frozen=True):
    """A run as a journal gets it, for another process to resume; `waits` for an approval or not."""

    run: str
    digest: str
    record: RunRecord
    events: Sequence[Event]
    waits: bool


def prepare(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    approval: Approval | ValueApproval | None = None,
    limits: Limits = Limits(),
    run_id: str = "",
    clock: Clock = time.time,
) -> Prepared:
    """Return a new run of `plan` that another process can start with `resume`.

    Args:
        plan: the plan of `compile_plan`.
        tools: at least the tools that the plan calls.
        approval: the approval of a plan with effects; without one the run waits. With a
            `ValueApproval` it starts, and each call with effects waits once its values are known.
        limits: maximum number of steps.
        run_id: the name of the run; empty for a new one.
        clock: seconds since the epoch.

    Raises:
        CannotRun: the plan cannot be run with these tools.
        ApprovalRequired: the approval is of another plan.
        ApprovalUsed: another run has used it.
    """
    check_plan(plan)
    known = tools_of(tools)
    runnable = frozen(plan, known)
    callees(runnable.plan.plan.steps, known, limits)
    run, digest = run_id or uuid.uuid4().hex, runnable.plan.digest
    ids = tuple(step.id for step in runnable.plan.plan.steps)
    events: list[Event] = [RunStarted(run, digest, ids, clock())]
    by = ""
    if approval is None and runnable.unasked:
        approval, by = approve(runnable.plan), POLICY
    if runnable.effects and isinstance(approval, ValueApproval):
        events.append(ApprovalStaged(digest, tuple(sorted(approval.shapes)), clock()))
    elif runnable.effects and isinstance(approval, Approval):
        if approval.digest != digest:
            raise ApprovalRequired(digest)
        approval.use_for(run)
        events.append(approved(approval, clock, by))
    waits = runnable.effects and approval is None
    if waits:
        events.append(RunWaiting(clock()))
    return Prepared(run, digest, record_of(runnable.plan, known), events, waits)


_OTHERS_S: Final = 1.0
_LOOK_S: Final = 0.05


async def cancel(
    run_id: str, *, journal: Store, clock: Clock = time.time, timeout_s: float = 30.0
) -> Run:
    """End a run that no process works on as cancelled; a run that is over is returned as it is.

    Calls in doubt stay in doubt. `resume` can still continue the run.

    Raises:
        JournalError: there is no such run, or another process works on it.
    """
    recorder = EventRecorder(journal, None, timeout_s=timeout_s)
    until = time.monotonic() + _OTHERS_S
    while True:
        try:
            # the record is not read: it may be damaged
            _, events = await recorder.take_over(run_id, lambda each: (None, each.events(run_id)))
            break
        except JournalError as error:
            # wait for another process that holds the lease briefly, e.g. to cancel it too
            if error.code != "journal-taken" or time.monotonic() > until:
                raise
            await asyncio.sleep(_LOOK_S)
    recovered, now = recover(events), recorder.run()
    if recovered.status is not None or now.status is RunState.CANCELLED:
        await recorder.release()
        return now
    recorder.write()
    try:
        doubtful = {step for step, _ in recovered.intents}
        for step in now.steps:
            if step not in recovered.over and step not in doubtful:
                recorder.add(StepCancelled(step, clock()))
        recorder.add(RunEnded(RunState.CANCELLED, None, clock()))
    finally:
        await recorder.finish(())
    return recorder.run()
