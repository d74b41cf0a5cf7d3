"""Resume the runs that a journal keeps."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.compiler import Tools, compile_plan, toolbox
from toolplan.compiler.rules import Rule
from toolplan.engine import CannotRun, Decided, RunOptions
from toolplan.engine import resume as go_on
from toolplan.events import Event, Failure, Run, RunEnded, RunState
from toolplan.plan.model import Limits
from toolplan.plan.path import Json
from toolplan.policy import Policy
from toolplan.policy.approval import Approver
from toolplan.policy.consent import NO_CONSENTS, Consent, ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool, Toolbox
from toolplan.storage.journal import RunRecord, Slot, Store, to_record

_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


async def resume(
    run_id: str,
    tools: Tools,
    *,
    journal: Store,
    approval: Approver | ValueApproval | None = None,
    decisions: Mapping[Slot, Decided] = _NO_DECISIONS,
    consents: Mapping[str, Consent] = NO_CONSENTS,
    limits: Limits = Limits(),
    run_options: RunOptions = RunOptions(),
    on_event: Callable[[Event], None] | None = None,
    clock: Callable[[], float] = time.time,
) -> Run:
    """Resume a run that was interrupted, cancelled, or waits for a person.

    Its plan is taken from the journal and checked again; its tools have to be unchanged.
    `decisions` say by step and item (None without `for_each`) what is to be done about calls in
    doubt, `consents` by step whether calls that wait may be made. All else is as for
    `toolplan.run`.

    Raises:
        CannotRun: the plan does not pass its check with these tools, or they have changed, or a
            decision is about no call that waits for it. No call was made.
        ApprovalRequired: the plan has effects, and was not approved.
        JournalError: there is no such run, another process works on it, or the journal cannot be
            written.
    """
    record = journal.record(run_id)
    known = tools_in(record, toolbox(tools))
    return await go_on(
        plan_in(record, known, limits),
        known,
        run_id,
        journal=journal,
        approval=approval,
        decisions=decisions,
        consents=consents,
        limits=limits,
        on_event=on_event,
        clock=clock,
        **run_options.arguments(),
    )


def cancel(journal: Store, start: str, reason: str, by: str, at: float) -> None:
    """End a run on which no process works, as one that waits for a person.

    `reason` says why its plan is refused, and `by` who decides; both may be empty.

    Raises:
        ToolplanError: the run is over.
        JournalError: there is no such run, or a process works on it.
    """
    name = journal.find(start)
    status = journal.entry(name).status
    if status in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED):
        raise ToolplanError("run-over", f"The run is over: it is {status.value}.")
    code, done = ("refused", "Refused") if reason else ("cancelled", "Cancelled")
    sentence = f"{done} by {by}" if by else done
    failure = Failure(code, f"{sentence}: {reason}" if reason else f"{sentence}.")
    ended = RunEnded(RunState.CANCELLED, None, at, failure)
    lease = journal.take(name)
    try:
        journal.append(lease, [to_record(ended)], lease.at, sync=True, status=RunState.CANCELLED)
    finally:
        journal.release(lease)


def plan_in(
    record: RunRecord, tools: Tools, limits: Limits = Limits(), rules: Sequence[Rule] | None = None
) -> ExecutionPlan:
    """Return the plan of a run that was started with `record`, checked again with `tools`.

    Raises:
        CannotRun: it does not pass the check.
    """
    try:
        policy = Policy.from_json(record.policy)
    except ValueError as error:
        raise CannotRun(f"The journal's policy of this run cannot be read: {error}") from None
    text, known = json.dumps(record.plan), tools_in(record, toolbox(tools))
    compiled = compile_plan(text, tools=known, limits=limits, policy=policy, rules=rules)
    if compiled.plan is None:
        reason = next(each.message for each in compiled.diagnostics if each.blocks)
        raise CannotRun(f"The plan does not pass its check with these tools: {reason}")
    return compiled.plan


def tools_in(record: RunRecord, tools: Toolbox) -> Toolbox:
    """Return `tools` with the objects of the run's tools, where only words differ.

    So the run keeps its digest, and what was approved with it, after a description has changed.
    """
    found: dict[str, Tool] = {}
    for kept in record.tools if isinstance(record.tools, list) else []:
        if not isinstance(kept, dict) or (name := str(kept.get("name"))) not in tools:
            continue
        tool, before = tools[name], recorded_tool(kept)
        item = before.to_json()
        if item != tool.to_json() and kept.get("version", before.version) == tool.version:
            found[name] = replace(
                tool,
                description=before.description,
                raw_input=before.raw_input,
                raw_output=before.raw_output,
                recorded=item,
            )
    return Toolbox({**tools, **found}.values()) if found else tools


def recorded_tool(kept: Mapping[str, Json]) -> Tool:
    """Return a tool as the record of a run keeps it; it cannot be called."""
    item = {name: part for name, part in kept.items() if name != "version"}
    return replace(Tool.from_json(item), recorded=item)
