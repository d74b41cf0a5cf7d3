"""Runs as the API shows them: lines of the list, and one run with all its details."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.app.app import App
from toolplan.app.results import RunResult
from toolplan.app.workers import Placed
from toolplan.base.errors import ToolplanError
from toolplan.events import (
    ApprovalStaged,
    CallDecided,
    ConsentGiven,
    Event,
    Failure,
    ItemEnded,
    RunApproved,
    RunEnded,
    RunState,
    StepRun,
)
from toolplan.plan.canonical import load
from toolplan.plan.comparison import ABSENT, Absent
from toolplan.plan.comparison import Change as Changed
from toolplan.plan.path import Json
from toolplan.storage.journal import RunEntry
from toolplan.storage.journal.reading import steps_of
from toolplan_studio import _run_wire as run_wire
from toolplan_studio import _wire as wire
from toolplan_studio._active import ActiveRuns
from toolplan_studio._errors import Refused
from toolplan_studio._states import STEP_NOTES, run_note, shown_step_state
from toolplan_studio._views import call_view, effects_view, flows_view, forecast_view, graph_view

_SEARCH_S: Final = 0.2
"""Seconds in which a filter looks for runs before it answers with those it has found."""
_SEARCHED: Final = 500
"""Number of runs that a filter reads at once."""
MOST_OUTPUT: Final = 200_000
"""Maximum length, in characters, of an output that is shown with the whole run."""
MOST_ITEMS: Final = 200
"""Maximum number of items of a step that are shown at once."""

_REFUSED: Final = ("refused", "cancelled")
_NO_PLAN: Final = "The plan does not pass its check with these tools: it cannot be resumed here."
_STATUSES: Final = {
    "interrupted": "running", "no_worker": "running", "parked": "running", "refused": "cancelled",
}  # fmt: skip
Allowed: TypeAlias = Literal["approve", "allow", "refuse", "decide", "cancel", "resume", "replan"]


class Filter(Struct, frozen=True):
    """The conditions on listed runs; an empty field does not count."""

    state: str = ""
    tool: str = ""
    day: str = ""
    text: str = ""


class Moment(NamedTuple):
    """A run as of the events that were read; its state follows from these alone."""

    entry: RunEntry
    events: Sequence[Event]
    result: RunResult


def read_moment(app: App, run: str) -> Moment:
    """Return a run as it is now; a JournalError where there is no such run."""
    journal = app.needed_journal()
    entry, events = journal.entry(run), journal.events(run)
    result = app.result(run, events)
    return Moment(replace(entry, status=result.status), events, result)


def run_line(entry: RunEntry, app: App, active: ActiveRuns) -> run_wire.RunLine:
    placed = app.workers.placed(entry.run) if entry.status is RunState.RUNNING else None
    is_active = _is_active(entry, active)
    state: run_wire.RunState = entry.status.value
    if entry.status is RunState.CANCELLED:
        for event in app.needed_journal().events(entry.run)[-1:]:
            if isinstance(event, RunEnded) and event.failure and event.failure.code == "refused":
                state = "refused"
    elif placed is not None and not is_active:
        state = "parked" if placed.parked else "running"
        state = state if placed.has_worker else "no_worker"
    elif entry.status is RunState.RUNNING and not is_active and entry.is_left:
        state = "interrupted"
    note = run_note(state, placed, is_active=is_active)
    return run_wire.RunLine.model_validate(
        {**asdict(entry), "state": state, "note": note, "active": is_active}
    )


def _is_active(entry: RunEntry, active: ActiveRuns) -> bool:
    """Return whether this server works on a run; one that waits does not count."""
    return entry.status is RunState.RUNNING and active.get(entry.run) is not None


def run_list(
    app: App, active: ActiveRuns, only: Filter, limit: int, after: str
) -> run_wire.RunList:
    """Return the latest runs that pass a filter, or those after a cursor."""
    end = time.monotonic() + _SEARCH_S
    found: list[run_wire.RunLine] = []
    until: float | None = None
    for entry in _entries(app, limit + 1 if only == Filter() else _SEARCHED, after):
        if len(found) == limit or (until is not None and time.monotonic() > end):
            break
        after, until = entry.cursor, entry.created_at
        if _passes(entry, only, app):
            line = run_line(entry, app, active)
            found += [line] if line.state == (only.state or line.state) else []
    else:
        after = ""  # there are no more
    stranded = [run_wire.StrandedOut.model_validate(each) for each in app.workers.stranded()]
    counts = app.needed_journal().counts()
    return run_wire.RunList(
        runs=found, next=after or None, until=until, stranded=stranded, counts=counts
    )


def _entries(app: App, size: int, after: str) -> Iterator[RunEntry]:
    """Yield the entries of the journal after a cursor, read in pages of `size`."""
    while entries := app.needed_journal().runs(size, after):
        yield from entries
        after = entries[-1].cursor


def _passes(entry: RunEntry, only: Filter, app: App) -> bool:
    """Return whether a run passes a filter, except for a state that only its line shows."""
    if only.state and entry.status.value != _STATUSES.get(only.state, only.state):
        return False
    if only.day and datetime.fromtimestamp(entry.created_at).date().isoformat() != only.day:
        return False
    text = only.text.casefold()
    is_said = text in f"{entry.run} {entry.question}".casefold()
    if is_said and not only.tool:
        return True
    try:
        plan = app.needed_journal().record(entry.run).plan
    except ToolplanError:
        plan = None
    steps = steps_of(plan)
    if only.tool and only.tool not in {str(each.get("tool")) for each in steps}:
        return False
    return is_said or any(
        text in f"{each.get('id')} {each.get('tool')}".casefold() for each in steps
    )


def run_view(app: App, run: str, active: ActiveRuns) -> run_wire.RunOut:
    moment = read_moment(app, run)
    entry, events, kept = moment
    record = app.needed_journal().record(run).plan
    placed = app.workers.placed(run)
    line = run_line(entry, app, active)
    allowed = allowed_decisions(moment, active, placed)
    output, is_left_out = limited(kept.output)
    plan = kept.plan
    return run_wire.RunOut(
        line=line,
        note=run_note(line.state, placed, allowed, is_active=line.active),
        plan=record,
        plan_fault=active.fault(run) or (None if plan is not None else _NO_PLAN),
        graph=graph_view(load(record).plan, app.tools),
        steps={name: _step(step, line.state) for name, step in kept.steps.items()},
        step_notes=STEP_NOTES,
        output=output,
        output_left_out=is_left_out,
        error=failure_view(kept.error),
        answer=None if kept.answer is None else limited(kept.answer.to_json())[0],
        answer_text=None if kept.answer is None else kept.answer.text,
        started_at=kept.started_at,
        ended_at=kept.ended_at,
        took_s=kept.took_s,
        approved_at=kept.approved_at,
        effects=effects_view(plan, app.tools),
        by_values=any(isinstance(each, ApprovalStaged) for each in events),
        calls=[call_view(each, app.tools) for each in kept.effects],
        flows=flows_view(plan),
        decisions=_decisions(events),
        allowed=allowed,
        forecast=forecast_view(None if plan is None else app.forecast(plan)),
        seq=len(events),
    )


def allowed_decisions(moment: Moment, active: ActiveRuns, placed: Placed | None) -> list[Allowed]:
    """Return the decisions that may be made about a run."""
    entry, _, kept = moment
    if _is_active(entry, active):
        return ["cancel"]
    # workers have the tools of their runs; a plan is approved only where its effects are shown
    can_resume = kept.plan is not None or placed is not None
    allowed: dict[Allowed, bool] = {}
    match entry.status:
        case RunState.WAITING if kept.waiting:
            allowed = {"allow": can_resume, "refuse": True, "cancel": True}
        case RunState.WAITING:
            allowed = {"approve": kept.plan is not None, "refuse": True, "cancel": True}
        case RunState.IN_DOUBT:
            allowed = {"decide": can_resume, "cancel": placed is not None}
        case RunState.RUNNING if placed is not None:
            allowed = {"resume": bool(placed.parked), "cancel": True}
        case RunState.RUNNING if entry.is_left:
            allowed = {"resume": can_resume, "cancel": True}
        case RunState.CANCELLED:
            allowed = {"resume": can_resume, "replan": True}
        case RunState.FAILED:
            allowed = {"replan": True}
        case _:
            pass
    return [name for name, is_allowed in allowed.items() if is_allowed]


def _decisions(events: Iterable[Event]) -> list[run_wire.DecisionOut]:
    """Return the decisions, in order, each with its author where that is known."""
    found: list[run_wire.DecisionOut] = []
    for event in events:
        said: dict[str, Any] = {"digest": None, "step": None, "item": None, "reason": None}
        match event:
            case RunApproved():
                said |= {"kind": "approve", "digest": event.digest}
            case CallDecided():
                said |= {"kind": event.decision, "step": event.step, "item": event.item}
            case ConsentGiven():
                kind = "allow" if event.allowed else "deny"
                said |= {"kind": kind, "step": event.step, "reason": event.reason or None}
            case RunEnded(failure=Failure(code=code, message=message)) if code in _REFUSED:
                said |= {"kind": "refuse" if code == "refused" else "cancel", "reason": message}
            case _:
                continue
        found.append(run_wire.DecisionOut(**said, by=str(getattr(event, "by", "")), at=event.at))
    return found


def failure_view(failure: Failure | None) -> wire.FailureOut | None:
    return None if failure is None else wire.FailureOut.model_validate(failure)


def _step(step: StepRun, run: run_wire.RunState) -> run_wire.StepOut:
    """Return the state of a step of a run that has the state `run`, without a large output."""
    output, is_left_out = limited(step.output)
    state = shown_step_state(run, step.state.value)
    return run_wire.StepOut.model_validate(
        {**asdict(step), "state": state, "output": output, "output_left_out": is_left_out}
    )


def step_detail(
    app: App, active: ActiveRuns, run: str, step: str, offset: int
) -> run_wire.StepDetail:
    """Return a step with its whole output, and some of its items; a Refused if there is none."""
    entry, events, kept = read_moment(app, run)
    state = kept.steps.get(step)
    if state is None:
        raise Refused("unknown-step", f"The run has no step {step!r}.")
    items = {
        each.item: each for each in events if isinstance(each, ItemEnded) and each.step == step
    }
    shown = sorted(items)[offset : offset + MOST_ITEMS]
    return run_wire.StepDetail(
        step=step,
        state=_step(state, run_line(entry, app, active).state),
        output=state.output,
        items=[run_wire.ItemOut.model_validate(items[at]) for at in shown],
        offset=offset,
        total=len(items),
    )


def limited(value: Json) -> tuple[Json, bool]:
    """Return a value, or null where it is too large, and whether it was."""
    if value is None or isinstance(value, bool | float):
        return value, False
    is_large = len(json.dumps(value, ensure_ascii=False)) > MOST_OUTPUT
    return (None if is_large else value), is_large


def result_changes(app: App, active: ActiveRuns, before: str, after: str) -> list[wire.Change]:
    """Compare the results of two runs; each change has the pointer of its value.

    A value that is too large to be shown is compared whole, and shown as null.
    """
    one, other = _results(app, active, before), _results(app, active, after)
    return [
        wire.Change.model_validate(Changed(place, _shown(place, one), _shown(place, other)))
        for place in {**one, **other}
        if (place in one) != (place in other) or _text(one.get(place)) != _text(other.get(place))
    ]


def _shown(place: str, values: Mapping[str, Json]) -> Json | Absent:
    return limited(values[place])[0] if place in values else ABSENT


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)  # for Python 1, 1.0 and true are equal


def _results(app: App, active: ActiveRuns, run: str) -> dict[str, Json]:
    entry, events, kept = read_moment(app, run)
    state = run_line(entry, app, active).state
    found: dict[str, Json] = {
        "/state": state,
        "/took_s": kept.took_s,
        "/error": None if kept.error is None else asdict(kept.error),
        "/output": kept.output,
        "/decisions": [
            each.model_dump(include={"kind", "by", "step", "item", "reason"})
            for each in _decisions(events)
        ],
    }
    for name, step in kept.steps.items():
        found[f"/steps/{name}/state"] = shown_step_state(state, step.state.value)
        found[f"/steps/{name}/error"] = None if step.error is None else asdict(step.error)
        found[f"/steps/{name}/output"] = step.output
    return found
