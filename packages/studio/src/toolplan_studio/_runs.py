"""Runs as the API shows them: lines of the list, and one run with all that is known of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.app.app import App
from toolplan.app.results import RunResult
from toolplan.app.workers import Placed
from toolplan.errors import ToolplanError
from toolplan.events import (
    ApprovalStaged,
    CallDecided,
    CallInDoubt,
    ConsentGiven,
    Event,
    Failure,
    ItemEnded,
    RunApproved,
    RunEnded,
    RunState,
    StepRun,
)
from toolplan.path import Json
from toolplan.plan_json import load
from toolplan.storage.journal import RunEntry
from toolplan_studio import _run_wire as wire
from toolplan_studio._active import ActiveRuns
from toolplan_studio._calls import calls_view
from toolplan_studio._errors import Refused
from toolplan_studio._run_wire import (
    DecisionOut,
    DoubtOut,
    ItemOut,
    RunLine,
    RunList,
    RunOut,
    StepDetail,
    StepOut,
    StrandedOut,
)
from toolplan_studio._states import STEP_NOTES, run_note, shown_step_state
from toolplan_studio._views import effects_view, flows_view, forecast_view, graph_view
from toolplan_studio._wire import Change, FailureOut

_SEARCH_S: Final = 0.2
"""How long a filter looks for runs before it answers with what it has found."""
_SEARCHED: Final = 500
"""How many runs a filter reads at once."""
MOST_OUTPUT: Final = 200_000
"""The most characters of one output that are shown with the whole run."""
MOST_ITEMS: Final = 200
"""The most items of a step that are shown at once."""

_REFUSED: Final = ("refused", "cancelled")
Allowed: TypeAlias = Literal["approve", "allow", "refuse", "decide", "cancel", "resume", "replan"]


class Filter(Struct, frozen=True):
    """Which runs are listed; what is None or empty does not count."""

    state: str = ""
    tool: str = ""
    day: str = ""
    text: str = ""


def run_line(entry: RunEntry, app: App, active: ActiveRuns) -> RunLine:
    """Return one line of the list of runs."""
    placed = app.workers.placed(entry.run) if entry.status is RunState.RUNNING else None
    state, is_active = _state(entry, app, active, placed), _works(entry, active)
    return RunLine(
        run=entry.run,
        created_at=entry.created_at,
        status=entry.status.value,
        state=state,
        note=run_note(state, placed, is_active=is_active),
        active=is_active,
        digest=entry.digest,
        question=entry.question,
        tools=entry.tools,
    )


def _kept_line(app: App, active: ActiveRuns, kept: RunResult) -> RunLine:
    """Return the line of a run whose events give `kept`: later events do not count."""
    entry = app.needed_journal().entry(kept.run)
    return run_line(replace(entry, status=kept.status), app, active)


def _state(entry: RunEntry, app: App, active: ActiveRuns, placed: Placed | None) -> wire.RunState:
    """Return the status of a run, or why one that is not over makes no progress."""
    if entry.status is RunState.CANCELLED:
        last = app.needed_journal().events(entry.run)[-1:]
        codes = [each.failure.code for each in last if isinstance(each, RunEnded) and each.failure]
        return "refused" if "refused" in codes else "cancelled"
    if entry.status is not RunState.RUNNING or _works(entry, active):
        return entry.status.value
    if placed is None:
        return "interrupted" if entry.is_left else "running"
    if not placed.has_worker:
        return "no_worker"
    return "parked" if placed.parked else "running"


def _works(entry: RunEntry, active: ActiveRuns) -> bool:
    """Return whether this server works on a run; one that waits or is over is only being left."""
    return entry.status is RunState.RUNNING and active.get(entry.run) is not None


def run_list(app: App, active: ActiveRuns, only: Filter, limit: int, after: str) -> RunList:
    """Return the latest runs that pass a filter, or those after a cursor."""
    end = time.monotonic() + _SEARCH_S
    found: list[RunLine] = []
    until: float | None = None
    size = limit + 1 if only == Filter() else _SEARCHED
    for entry in _entries(app, size, after):
        if len(found) == limit or (until is not None and time.monotonic() > end):
            break
        after, until = entry.cursor, entry.created_at
        if _passes(entry, only, app):
            line = run_line(entry, app, active)
            found += [line] if line.state == (only.state or line.state) else []
    else:
        after = ""  # there are no more
    return RunList(
        runs=found,
        next=after or None,
        until=until,
        stranded=[StrandedOut(**each._asdict()) for each in app.workers.stranded()],
    )


def _entries(app: App, size: int, after: str) -> Iterator[RunEntry]:
    """Yield the entries of the journal after a cursor, read in pages of `size`."""
    while entries := app.needed_journal().runs(size, after):
        yield from entries
        after = entries[-1].cursor


_STATUSES: Final = {
    "interrupted": "running", "no_worker": "running", "parked": "running", "refused": "cancelled",
}  # fmt: skip


def _passes(entry: RunEntry, only: Filter, app: App) -> bool:
    """Return whether a run passes a filter, but for what only its line says of its state."""
    if only.state and entry.status.value != _STATUSES.get(only.state, only.state):
        return False
    if only.day and datetime.fromtimestamp(entry.created_at).date().isoformat() != only.day:
        return False
    text = only.text.casefold()
    is_said = text in f"{entry.run} {entry.question}".casefold()
    if is_said and not only.tool:
        return True
    steps = _steps(entry.run, app)
    if only.tool and only.tool not in {str(each.get("tool")) for each in steps}:
        return False
    return is_said or any(
        text in f"{each.get('id')} {each.get('tool')}".casefold() for each in steps
    )


def _steps(run: str, app: App) -> list[dict[str, Json]]:
    """Return the steps of a run as its plan says them; none where it cannot be read."""
    try:
        plan = app.needed_journal().record(run).plan
    except ToolplanError:
        return []
    steps = plan.get("steps") if isinstance(plan, dict) else None
    return [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []


def known_run(app: App, run: str) -> RunEntry:
    """Return the entry of a run.

    Raises:
        JournalError: there is no such run.
    """
    return app.needed_journal().entry(run)


def run_view(app: App, run: str, active: ActiveRuns) -> RunOut:
    """Return a run with its plan, its steps and its answer."""
    journal = app.needed_journal()
    entry = journal.entry(run)
    # the state is that of these events and of no others: a page continues where they end
    events = journal.events(run)
    kept = app.result(run, events)
    entry = replace(entry, status=kept.status)
    written = load(journal.record(run).plan).plan
    output, is_left_out = limited(kept.output)
    plan = kept.plan
    placed = app.workers.placed(run)
    line = run_line(entry, app, active)
    allowed: list[Allowed] = [*_allowed(entry, kept, active, placed)]
    return RunOut(
        line=line,
        note=run_note(line.state, placed, allowed, is_active=line.active),
        plan=journal.record(run).plan,
        plan_fault=active.fault(run) or (None if plan is not None else _NO_PLAN),
        graph=graph_view(written, app.tools),
        steps={name: step_view(name, step, line.state) for name, step in kept.steps.items()},
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
        effects=[] if plan is None else effects_view(plan, app.tools),
        by_values=any(isinstance(each, ApprovalStaged) for each in events),
        calls=calls_view(kept.effects, app.tools),
        flows=[] if plan is None else flows_view(plan),
        decisions=[*_decisions(events)],
        allowed=allowed,
        forecast=None if plan is None else forecast_view(app.forecast(plan)),
        seq=len(events),
    )


_NO_PLAN: Final = "The plan does not pass its check with these tools: it cannot be resumed here."


def allowed_now(app: App, entry: RunEntry, active: ActiveRuns) -> list[Allowed]:
    """Return what may be decided about a run."""
    kept, placed = app.result(entry.run), app.workers.placed(entry.run)
    return [*_allowed(replace(entry, status=kept.status), kept, active, placed)]


def _allowed(
    entry: RunEntry, kept: RunResult, active: ActiveRuns, placed: Placed | None
) -> Iterable[Allowed]:
    # workers have the tools of their runs; a plan is approved only where its effects are shown
    can_run = kept.plan is not None or (placed is not None and bool(kept.waiting))
    if _works(entry, active):
        yield "cancel"
        return
    match entry.status:
        case RunState.WAITING:
            yield from ("allow" if kept.waiting else "approve",) if can_run else ()
            yield from ("refuse", "cancel")
        case RunState.IN_DOUBT if placed is not None:
            yield from ("decide", "cancel")
        case RunState.RUNNING if placed is not None:
            yield from ("resume", "cancel") if placed.parked else ("cancel",)
        case RunState.CANCELLED if placed is not None:
            yield from ("resume", "replan")
        case RunState.IN_DOUBT:
            yield from ("decide",) if can_run else ()
        case RunState.RUNNING if entry.is_left:
            yield from ("resume", "cancel") if can_run else ("cancel",)
        case RunState.CANCELLED:
            yield from ("resume", "replan") if can_run else ("replan",)
        case RunState.FAILED:
            yield "replan"
        case _:
            return


def _decisions(events: Iterable[Event]) -> Iterable[DecisionOut]:
    """Yield what was decided, in order, and by whom where that is known."""
    for event in events:
        match event:
            case RunApproved():
                yield _decision("approve", event, digest=event.digest)
            case CallDecided():
                yield _decision(event.decision, event, step=event.step, item=event.item)
            case ConsentGiven(allowed=allowed):
                kind, reason = "allow" if allowed else "deny", event.reason or None
                yield _decision(kind, event, step=event.step, reason=reason)
            case RunEnded(failure=Failure(code=code, message=message)) if code in _REFUSED:
                kind = "refuse" if code == "refused" else "cancel"
                yield _decision(kind, event, reason=message)
            case _:
                pass


def _decision(
    kind: str,
    event: RunApproved | CallDecided | ConsentGiven | RunEnded,
    *,
    digest: str | None = None,
    step: str | None = None,
    item: int | None = None,
    reason: str | None = None,
) -> DecisionOut:
    by = str(getattr(event, "by", ""))
    return DecisionOut(
        kind=kind, by=by, at=event.at, digest=digest, step=step, item=item, reason=reason
    )


def failure_view(failure: Failure | None) -> FailureOut | None:
    """Return why something did not succeed."""
    return None if failure is None else FailureOut.model_validate(asdict(failure))


def step_view(name: str, step: StepRun, run: wire.RunState) -> StepOut:
    """Return the state of a step of a run that has the state `run`, without a large output."""
    output, is_left_out = limited(step.output)
    return StepOut(
        state=shown_step_state(run, step.state.value),
        output=output,
        output_left_out=is_left_out,
        error=failure_view(step.error),
        started_at=step.started_at,
        ended_at=step.ended_at,
        attempts=step.attempts,
        items=step.items,
        items_done=step.items_done,
        items_failed=step.items_failed,
        doubts=[_doubt(name, each) for each in step.doubts],
    )


def _doubt(name: str, doubt: CallInDoubt) -> DoubtOut:
    return DoubtOut(
        step=name,
        item=doubt.item,
        attempt=doubt.attempt,
        tool=doubt.tool,
        args=doubt.args,
        failure=cast("FailureOut", failure_view(doubt.failure)),
        result=doubt.result,
    )


def step_detail(app: App, active: ActiveRuns, run: str, step: str, offset: int) -> StepDetail:
    """Return a step with its whole output, and some of its items.

    Raises:
        Refused: the run has no such step.
    """
    events = app.needed_journal().events(run)
    kept = app.result(run, events)
    state = kept.steps.get(step)
    if state is None:
        raise Refused("unknown-step", f"The run has no step {step!r}.")
    items = {
        each.item: each for each in events if isinstance(each, ItemEnded) and each.step == step
    }
    ordered = [items[at] for at in sorted(items)]
    return StepDetail(
        step=step,
        state=step_view(step, state, _kept_line(app, active, kept).state),
        output=state.output,
        items=[
            ItemOut(
                item=each.item,
                output=each.output,
                attempts=each.attempts,
                failure=failure_view(each.failure),
            )
            for each in ordered[offset : offset + MOST_ITEMS]
        ],
        offset=offset,
        total=len(ordered),
    )


def limited(value: Json) -> tuple[Json, bool]:
    """Return a value, or null where it is too large, and whether it was."""
    if value is None or isinstance(value, bool | float):
        return value, False
    if len(json.dumps(value, ensure_ascii=False)) > MOST_OUTPUT:
        return None, True
    return value, False


def result_changes(app: App, active: ActiveRuns, before: str, after: str) -> list[Change]:
    """Compare the results of two runs; each change has the pointer of its value.

    A value that is too large to be shown is compared whole, and shown as null.

    Raises:
        JournalError: there is no such run.
    """
    one, other = _results(app, active, before), _results(app, active, after)
    return [
        Change(
            pointer=place,
            has_before=place in one,
            before=limited(one.get(place))[0],
            has_after=place in other,
            after=limited(other.get(place))[0],
        )
        for place in {**one, **other}
        if (place in one) != (place in other) or _text(one.get(place)) != _text(other.get(place))
    ]


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)  # for Python 1, 1.0 and true are equal


def _results(app: App, active: ActiveRuns, run: str) -> dict[str, Json]:
    events = app.needed_journal().events(run)
    kept = app.result(run, events)
    state = _kept_line(app, active, kept).state
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
