"""Runs that a journal keeps: their plans, and going on with them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from toolplan.app._approver import Approve, approver
from toolplan.compiler import Tools, compile_plan, toolbox
from toolplan.engines import CannotRun, Decided, RunOptions
from toolplan.engines import resume as go_on
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan, Policy
from toolplan.plan import Limits
from toolplan.storage.journal import Journal, Slot

_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


async def resume(
    run_id: str,
    tools: Tools,
    *,
    journal: Journal,
    approve: Approve | None = None,
    decisions: Mapping[Slot, Decided] = _NO_DECISIONS,
    limits: Limits = Limits(),
    bounds: RunOptions = RunOptions(),
    on_event: Callable[[Event], None] | None = None,
    clock: Callable[[], float] = time.time,
) -> Run:
    """Go on with a run that was interrupted, cancelled, or waits for a person.

    Its plan is taken from the journal and checked again.

    Args:
        run_id: the name of the run.
        tools: the tools of the run, unchanged.
        journal: where the run is kept.
        approve: asked for leave, where the plan has effects and none was given yet.
        decisions: by step and item (None without `for_each`), what is to be done about calls in
            doubt.
        limits: bounds on what is run.
        bounds: how much is run at once, and how long it may take.
        on_event: called with every new event.
        clock: seconds since the epoch.

    Raises:
        CannotRun: the plan does not pass its check with these tools, or they have changed, or a
            decision is about no call that is in doubt. No call was made.
        ApprovalRequired: the plan has effects, and leave to run it was not given.
        JournalError: there is no such run, another process works on it, or the journal cannot be
            written.
    """
    known = toolbox(tools)
    return await go_on(
        plan_of(run_id, known, journal=journal, limits=limits),
        known,
        run_id,
        journal=journal,
        approval=None if approve is None else approver(approve),
        decisions=decisions,
        limits=limits,
        on_event=on_event,
        clock=clock,
        **bounds.options(),
    )


def plan_of(
    run_id: str, tools: Tools, *, journal: Journal, limits: Limits = Limits()
) -> ExecutionPlan:
    """Return the plan of a run that `journal` keeps, checked again with `tools`.

    Raises:
        CannotRun: it does not pass the check.
        JournalError: there is no such run.
    """
    record = journal.record(run_id)
    try:
        policy = Policy.from_json(record.policy)
    except ValueError as error:
        raise CannotRun(f"The journal's policy of this run cannot be read: {error}") from None
    text = json.dumps(record.plan)
    compiled = compile_plan(text, tools=tools, limits=limits, policy=policy)
    if compiled.plan is None:
        reason = next(each.message for each in compiled.diagnostics if each.blocks)
        raise CannotRun(f"The plan does not pass its check with these tools: {reason}")
    return compiled.plan
