"""The state of a run: a fold of its events.

There is no other state: `fold(events)` returns the run of all events, `apply(run, event)` adds one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from toolplan.base.shown import Shown, counted
from toolplan.events import _kinds as kinds
from toolplan.plan.path import Json


class StepRun(Struct, frozen=True):
    """The state of a step. `items`, `items_done` and `items_failed` count calls of `for_each`."""

    state: kinds.StepState = kinds.StepState.PENDING
    output: Json = None
    error: kinds.Failure | None = None
    started_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    items: int | None = None
    items_done: int = 0
    items_failed: int = 0
    partial: tuple[kinds.Partial, ...] = ()
    """The lists of which `output` knows a part only."""
    doubts: tuple[kinds.CallInDoubt, ...] = ()
    """The calls that wait for a decision."""
    waiting: tuple[kinds.CallWaiting, ...] = ()
    """The calls that wait until a person has seen their values."""

    @property
    def in_doubt(self) -> tuple[int | None, ...]:
        """The positions of the items in doubt; (None,) where a step has no `for_each`."""
        return tuple(each.item for each in self.doubts)


_PENDING = StepRun()
_RUNNING, _SUCCEEDED = kinds.StepState.RUNNING, kinds.StepState.SUCCEEDED
_Asked = TypeVar("_Asked", kinds.CallInDoubt, kinds.CallWaiting)


class Run(Shown, Struct, frozen=True):
    """The state of a run; `steps` are in plan order; `error` is why `output` is not complete."""

    run: str = ""
    digest: str = ""
    status: kinds.RunState = kinds.RunState.RUNNING
    steps: Mapping[str, StepRun] = field(default_factory=dict[str, StepRun])
    output: Json = None
    started_at: float | None = None
    ended_at: float | None = None
    approved_at: float | None = None
    is_resumed: bool = False
    error: kinds.Failure | None = None
    partial: tuple[kinds.Partial, ...] = ()

    def __repr__(self) -> str:
        return f"Run({self.run!r}, {self.status.value}, {counted(len(self.steps), 'step')})"

    @property
    def took_s(self) -> float | None:
        """Seconds without waits for approval, with those between processes; None while it runs."""
        started = self.started_at if self.approved_at is None else self.approved_at
        return None if started is None or self.ended_at is None else self.ended_at - started

    @property
    def succeeded(self) -> bool:
        """Whether the run succeeded."""
        return self.status is kinds.RunState.SUCCEEDED

    @property
    def waiting(self) -> tuple[kinds.CallWaiting, ...]:
        """The calls that wait until a person has seen their values, in the order of the plan."""
        return tuple(call for step in self.steps.values() for call in step.waiting)


class Folding:
    """A run that takes events in place, each in constant time."""

    __slots__ = ("_run", "_steps")

    def __init__(self, run: Run | None = None) -> None:
        self._run: Run = run or Run()
        self._steps: dict[str, StepRun] = dict(self._run.steps)

    def add(self, event: kinds.Event) -> None:
        """Add the next event."""
        # the two most frequent events; a class pattern costs more than a comparison
        if type(event) is kinds.StepSucceeded:
            self._steps[event.step] = _succeeded(self._steps.get(event.step, _PENDING), event)
            return
        if type(event) is kinds.StepStarted and self._steps.get(event.step, _PENDING) is _PENDING:
            self._steps[event.step] = StepRun(_RUNNING, None, None, event.at, None, 0, event.items)
            return
        run, steps = self._run, self._steps
        match event:
            case kinds.RunStarted():
                self._run = Run(event.run, event.digest, started_at=event.at)
                self._steps = dict.fromkeys(event.steps, _PENDING)
            case kinds.StepArrived():
                steps[event.step] = _PENDING
            case kinds.PlanSettled():
                self._run = replace(run, digest=event.digest)
                self._steps = {name: steps.get(name, _PENDING) for name in event.steps}
            case kinds.ApprovalStaged():
                self._run = replace(run, status=kinds.RunState.RUNNING)
            case kinds.RunWaiting():
                self._run = replace(run, status=kinds.RunState.WAITING)
            case kinds.RunApproved():
                self._run = replace(run, status=kinds.RunState.RUNNING, approved_at=event.at)
            case kinds.RunResumed():
                self._steps = {name: _resumed(step) for name, step in steps.items()}
                again = replace(run, status=kinds.RunState.RUNNING, is_resumed=True)
                self._run = replace(again, output=None, error=None, ended_at=None, partial=())
            case kinds.RunParked():
                self._run = replace(run, status=event.status)
            case kinds.RunEnded(status, output, at, failure, partial):
                ended = replace(run, status=status, output=output, error=failure, ended_at=at)
                self._run = replace(ended, partial=partial or run.partial)
            case _:
                steps[event.step] = _step_after(steps.get(event.step, _PENDING), event)

    def run(self) -> Run:
        """Return the run after the events so far."""
        return replace(self._run, steps=dict(self._steps))


def fold(events: Iterable[kinds.Event]) -> Run:
    """Return the run after `events`."""
    folding = Folding()
    for event in events:
        folding.add(event)
    return folding.run()


def apply(run: Run, event: kinds.Event) -> Run:
    """Return `run` after `event`."""
    folding = Folding(run)
    folding.add(event)
    return folding.run()


def to_json(run: Run) -> dict[str, Json]:
    """Return `run` as JSON, without an answer."""
    steps: Json = {name: _step_to_json(step) for name, step in run.steps.items()}
    known: dict[str, Json] = {"run": run.run, "status": run.status.value, "steps": steps}
    error: dict[str, Json] = {} if run.error is None else {"error": asdict(run.error)}
    return {**known, "output": run.output, **error, **part_to_json(run.partial)}


def part_to_json(partial: tuple[kinds.Partial, ...]) -> dict[str, Json]:
    """Return that something is over a part, as JSON: `complete` is false; empty where it is not."""
    if not partial:
        return {}
    parts: list[Json] = [
        _members(each, "step", "rows", "total", "reason", "text") for each in partial
    ]
    return {"complete": False, "partial": parts}


def _succeeded(step: StepRun, event: kinds.StepSucceeded) -> StepRun:
    return StepRun(
        _SUCCEEDED,
        event.output,
        event.failure,
        step.started_at,
        event.at,
        event.attempts,
        step.items,
        step.items_done,
        step.items_failed,
        event.partial,
        step.doubts,
    )


def _step_after(step: StepRun, event: kinds.StepEvent) -> StepRun:
    match event:
        case kinds.StepSucceeded():
            return _succeeded(step, event)
        case kinds.StepStarted(items=items, at=at):
            return replace(step, state=_open_state(step), started_at=at, items=items)
        case kinds.AttemptFailed(attempt=attempt):
            return replace(step, attempts=attempt)
        case kinds.ItemEnded(failure=failure):
            failed = step.items_failed + (failure is not None)
            return replace(step, items_done=step.items_done + 1, items_failed=failed)
        case (
            kinds.StepProgressed()
            | kinds.CallIntended()
            | kinds.CallAnsweredLate()
            | kinds.PageEnded()
        ):
            return step
        case kinds.CallInDoubt() | kinds.CallDecided() | kinds.CallWaiting() | kinds.ConsentGiven():
            return _asked_about(step, event)
        case kinds.StepFailed(failure=failure, attempts=attempts, at=at):
            ended = replace(step, state=kinds.StepState.FAILED, error=failure, ended_at=at)
            return replace(ended, attempts=attempts, waiting=())
        case kinds.StepSkipped(failure=failure, at=at):
            return replace(
                step, state=kinds.StepState.SKIPPED, error=failure, ended_at=at, waiting=()
            )
        case kinds.StepCancelled(at=at):
            return replace(step, state=kinds.StepState.CANCELLED, ended_at=at, waiting=())


def _asked_about(
    step: StepRun,
    event: kinds.CallInDoubt | kinds.CallDecided | kinds.CallWaiting | kinds.ConsentGiven,
) -> StepRun:
    """Return `step` after a person is asked about a call of it, or has decided."""
    doubts, waiting, error = step.doubts, step.waiting, step.error
    match event:
        case kinds.CallInDoubt(failure=failure):
            doubts, error = _with(doubts, event), failure
        case kinds.CallDecided(item=item):
            doubts = tuple(each for each in doubts if each.item != item)
            error = error if doubts else None
        case kinds.CallWaiting():
            waiting = _with(waiting, event)
        case kinds.ConsentGiven(calls=calls):
            decided = {item for item, _ in calls}
            waiting = tuple(each for each in waiting if each.item not in decided)
    changed = replace(step, error=error, doubts=doubts, waiting=waiting)
    return replace(changed, state=_open_state(changed))


def _open_state(step: StepRun) -> kinds.StepState:
    """Return the state of a step that is not over, by what its calls wait for."""
    if step.doubts:
        return kinds.StepState.IN_DOUBT
    return kinds.StepState.WAITING if step.waiting else kinds.StepState.RUNNING


def _with(asked: tuple[_Asked, ...], event: _Asked) -> tuple[_Asked, ...]:
    """Return `asked`, in the order of items, with `event` in place of an earlier one."""
    item = _item(event)
    at = bisect_left(asked, item, key=_item)
    after = at + (at < len(asked) and _item(asked[at]) == item)
    return (*asked[:at], event, *asked[after:])


def _item(event: kinds.CallInDoubt | kinds.CallWaiting) -> int:
    return -1 if event.item is None else event.item


_OVER = frozenset((kinds.StepState.SUCCEEDED, kinds.StepState.FAILED, kinds.StepState.SKIPPED))


def _resumed(step: StepRun) -> StepRun:
    """Return the state of `step` after a resumption; calls that a person is asked about stay."""
    if step.state in _OVER:
        return step
    if step.doubts or step.waiting:
        error = step.error if step.doubts else None
        return replace(step, state=_open_state(step), error=error, attempts=0, ended_at=None)
    if step.items is None:
        return _PENDING
    return StepRun(items=step.items, items_done=step.items_done, items_failed=step.items_failed)


def _step_to_json(step: StepRun) -> Json:
    document: dict[str, Json] = {
        "state": step.state.value,
        "output": step.output,
        "error": None if step.error is None else asdict(step.error),
        **_members(step, "started_at", "ended_at", "attempts"),
        **part_to_json(step.partial),
    }
    if step.doubts:
        document["in_doubt"] = [*step.in_doubt]
        document["calls_in_doubt"] = [
            {
                **_members(each, "item", "tool", "args"),
                "reason": each.failure.message,
                "result": each.result,
            }
            for each in step.doubts
        ]
    if step.waiting:
        names = ("item", "tool", "args", "origins", "digest")
        document["calls_waiting"] = [_members(each, *names) for each in step.waiting]
    return document


def _members(value: Struct, *names: str) -> dict[str, Json]:
    return {name: getattr(value, name) for name in names}
