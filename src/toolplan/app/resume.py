"""Runs that a journal keeps, as they are resumed, and decisions: of approvers, and of a user.

An approver is a person who is asked, or an approval that was given beforehand.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.compiler import Tools, compile_plan, toolbox
from toolplan.compiler.rules import Rule
from toolplan.engine import CannotRun, Decided, RunOptions
from toolplan.engine import resume as go_on
from toolplan.events import Event, Failure, Run, RunEnded, RunState
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Limits
from toolplan.plan.path import Json
from toolplan.policy import Policy
from toolplan.policy.approval import (
    Approval,
    ApprovalRequired,
    ApprovalUsed,
    Approver,
    approve,
    approve_digest,
    needs_no_approval,
)
from toolplan.policy.consent import NO_CONSENTS, Consent, Effect, ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool, Toolbox
from toolplan.storage.journal import RunRecord, Slot, Store, to_record

ADVICE: Final = "run_with"
"""The key, in the metadata of a plan that has run, for how its tools were opened."""
VALUES: Final = "values"


class DigestApprover(Struct, frozen=True):
    """Approves the plan with `digest` after `ask`, which shows it, has approved it too.

    `times` is the number of runs that the digest may approve in all.
    """

    digest: str
    ask: Callable[[ExecutionPlan], Awaitable[Approval | bool | None]]
    times: int = 1

    async def __call__(self, plan: ExecutionPlan) -> Approval | bool | None:
        """Return the approval of `plan`, None if it is another one or is refused."""
        if plan.digest != self.digest:
            return None
        given = await self.ask(plan)
        return approve_digest(plan, self.times) if isinstance(given, Approval) else given


class ByPlan(Struct, frozen=True):
    """Lets the plan decide who approves: `choose` gets it; `otherwise` is for an unwritten one."""

    choose: Callable[[ExecutionPlan], Approver | ValueApproval]
    otherwise: Approver


Approve: TypeAlias = Approver | Approval | ValueApproval | ByPlan | str
"""A callable that is given the plan and returns an approval or None; an approval; or a digest.

`VALUES` and a `ValueApproval` have calls approved with their values, and not the plan.
"""


def chosen(given: Approve | None, plan: ExecutionPlan | None) -> Approve | None:
    """Return the approver of `plan`; None is a plan that is not written yet."""
    if not isinstance(given, ByPlan):
        return given
    return given.otherwise if plan is None else given.choose(plan)


def by_values(given: Approve | None) -> ValueApproval | None:
    """Return how calls are approved with their values; None where the plan is approved."""
    if given == VALUES:
        return ValueApproval()
    return given if isinstance(given, ValueApproval) else None


def approver_of(given: Approve | None, *, yes: bool) -> Approver | ValueApproval | None:
    """Return the approver for an engine; None where no plan with effects may run."""
    if (values := by_values(given)) is not None:
        return values
    if callable(given) or (given is None and not yes):
        return given

    def answer(plan: ExecutionPlan) -> Approval | None:
        if is_other(given, plan):
            return None
        if isinstance(given, Approval):
            return given
        return approve(plan) if given is None else approve_digest(plan)

    return answer


async def approver_for(
    given: Approve | None, plan: ExecutionPlan, journal: Store | None, run: str = "", *, yes: bool
) -> Approver | ValueApproval | None:
    """Return the approver of `plan` for an engine, after `refuse_wrong`, which raises."""
    approve = chosen(given, plan)
    if plan.effects:
        await in_thread(refuse_wrong, approve, plan, journal, run)
    return approver_of(approve, yes=yes)


def is_other(given: Approve | None, plan: ExecutionPlan) -> bool:
    """Return whether an approval was given beforehand, for another plan than `plan`."""
    digest = given.digest if isinstance(given, Approval | DigestApprover) else given
    return isinstance(digest, str) and digest not in (VALUES, plan.digest)


def refuse_wrong(
    given: Approve | None, plan: ExecutionPlan, journal: Store | None, run: str = ""
) -> None:
    """Refuse a plan with effects that the given approval cannot approve for `run`.

    This is before anyone is asked; the journal decides when the approval is used.
    """
    if not plan.effects:
        return
    if is_other(given, plan):
        raise ApprovalRequired(plan.digest)
    times = given.times if isinstance(given, DigestApprover) else 1
    by_digest = isinstance(given, DigestApprover) or given == plan.digest
    if by_digest and journal is not None and not needs_no_approval(plan):
        users = journal.users(plan.digest)
        if run not in users and len(users) >= times:
            raise ApprovalUsed(approve_digest(plan, len(users)).id, users[-1])


_T = TypeVar("_T")

_FIRST_DAY: Final = date(1900, 1, 1)
_LAST_DAY: Final = date(2999, 12, 31)
LeftOut: TypeAlias = Mapping[str, Mapping[int, str | None]]
"""Calls by step and item, with the digest of the call that was shown, if it is known."""
_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


def decisions_of(
    retry: Sequence[str], resolve: Sequence[str] | Mapping[str, Json], abort: Sequence[str]
) -> dict[Slot, Decided]:
    """Return the decisions about calls in doubt, by step and item."""
    pairs = resolve.items() if isinstance(resolve, Mapping) else map(_resolved, _listed(resolve))
    found: dict[Slot, Decided] = {}
    for place, decided in (
        *((place, Decided("retry")) for place in _listed(retry)),
        *((place, Decided("abort")) for place in _listed(abort)),
        *((place, Decided("resolve", output)) for place, output in pairs),
    ):
        slot = _slot(place)
        if slot in found:
            raise _decided_twice(place)
        found[slot] = decided
    return found


def consents_of(
    allow: Sequence[str | Effect], deny: Sequence[str | Effect], reason: str
) -> dict[str, Consent]:
    """Return the decisions about waiting calls, by step."""
    found: dict[str, Consent] = {}
    given = [(each, True) for each in _listed(allow)] + [(each, False) for each in _listed(deny)]
    for each, allowed in given:
        is_call = isinstance(each, Effect)
        step = each.step if is_call else each
        calls = {each.item: each.digest} if is_call else None
        if (before := found.get(step)) is not None:
            if before.allowed != allowed or before.calls is None or calls is None:
                raise _decided_twice(step)
            calls = {**before.calls, **calls}
        found[step] = Consent(allowed, "" if allowed else reason, calls)
    return found


def _decided_twice(place: str) -> ToolplanError:
    return ToolplanError("usage", f"{place!r} has two decisions.", "Give one of them.")


def left_out_items(given: Sequence[str | Effect]) -> LeftOut:
    """Return the calls of `for_each` that are to be left out."""
    found: dict[str, dict[int, str | None]] = {}
    for each in _listed(given):
        step, item = (each.step, each.item) if isinstance(each, Effect) else _slot(each)
        if item is None:
            raise ToolplanError(
                "usage",
                f"{step!r} names no item to leave out.",
                "Write STEP:ITEM, as in mail:2. To make none of its calls, deny the step.",
            )
        found.setdefault(step, {})[item] = each.digest if isinstance(each, Effect) else None
    return found


def _listed(given: Sequence[_T]) -> Sequence[_T | str]:
    """Return `given`; of a text, which is a sequence too, the text alone."""
    return (given,) if isinstance(given, str) else given


def _resolved(option: str) -> tuple[str, Json]:
    place, sign, text = option.partition("=")
    try:
        if sign:
            output = read_json(text)
            json.dumps(output, allow_nan=False)  # 1e999 is infinite, too
            return place, output
    except (ValueError, RecursionError):
        pass
    help_ = "Write STEP=JSON, as in mail='{\"sent\": true}', or STEP=null."
    raise ToolplanError("usage", f"resolve {option!r} cannot be read.", help_)


def _slot(place: str) -> Slot:
    step, _, item = place.partition(":")
    if not item:
        return step, None
    if not (item.isascii() and item.isdecimal() and len(item) < 10):
        help_ = "Write STEP, or STEP:ITEM with a number."
        raise ToolplanError("usage", f"{place!r} names no call.", help_)
    return step, int(item)


def read_day(text: object) -> date:
    """Return the date that `text` is or names."""
    if isinstance(text, date):
        return text.date() if isinstance(text, datetime) else text
    try:
        found = date.fromisoformat(text) if isinstance(text, str) else date.min
    except ValueError:
        found = date.min
    if not _FIRST_DAY <= found <= _LAST_DAY:
        raise ToolplanError(
            "bad-date",
            f"today {text!r} is not a date from {_FIRST_DAY} to {_LAST_DAY}.",
            "Write YYYY-MM-DD, as in 2025-10-12.",
        )
    return found


def metadata_of(plan: Json) -> dict[str, Json]:
    """Return the metadata of a plan in its JSON form, or empty if there is none."""
    metadata = plan.get("metadata") if isinstance(plan, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def maker_of(plan: Json) -> str:
    """Return the maker of the run with this plan; empty for a person or a program."""
    match metadata_of(plan):
        case {"run_with": {"made_by": str(name)}}:
            return name
        case _:
            return ""


def day_of(metadata: Mapping[str, Json]) -> str | None:
    """Return the date that counted as today in a run, from the metadata of its plan."""
    match metadata:
        case {"run_with": {"today": str(day)}} | {"reference_date": str(day)}:
            return day
        case _:
            return None


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
