"""The events of a run, and the state of a run: a fold of its events.

There is no other state: `fold(events)` returns the run of all events, `apply(run, event)` adds one.
Times are seconds since the epoch, from the clock of the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from toolplan.path import Json
from toolplan.shown import Shown, counted


class StepState(StrEnum):
    """The state of a step."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    IN_DOUBT = "in_doubt"


class RunState(StrEnum):
    """The state of a run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    IN_DOUBT = "in_doubt"


Decision: TypeAlias = Literal["retry", "resolve", "abort"]
"""A decision about a call in doubt."""


class Failure(NamedTuple):
    """Why a step did not succeed.

    `code` is a kebab-case name, as `tool-error` or `upstream-failed`; `pointer` is a JSON Pointer
    into the step, as `/args/location`.
    """

    code: str
    message: str
    pointer: str = ""


class RunStarted(NamedTuple):
    """The run was accepted, with the ids of its steps in plan order and the digest of the plan.

    Both are empty for a streamed plan: `StepArrived` and `PlanSettled` follow.
    """

    run: str
    digest: str
    steps: tuple[str, ...]
    at: float


class StepArrived(NamedTuple):
    """A streamed plan has one more step."""

    step: str
    at: float


class PlanSettled(NamedTuple):
    """A streamed plan is complete and checked; `steps` are its ids in order."""

    digest: str
    steps: tuple[str, ...]
    at: float


class RunWaiting(NamedTuple):
    """The run waits for an approval; no step with effects has started."""

    at: float


class RunApproved(NamedTuple):
    """The plan was approved; `approval` is the id of the approval."""

    approval: str
    digest: str
    at: float


class RunResumed(NamedTuple):
    """The run was resumed; steps that were running or cancelled are pending again."""

    at: float


class RunParked(NamedTuple):
    """No step can continue without a person: `status` is `waiting` or `in_doubt`."""

    status: RunState
    at: float


class StepStarted(NamedTuple):
    """A step has its inputs, and its first call follows; `items` counts `for_each`."""

    step: str
    items: int | None
    at: float


class AttemptFailed(NamedTuple):
    """An attempt failed and another follows; `item` is the position in `for_each`."""

    step: str
    item: int | None
    attempt: int
    failure: Failure
    at: float


class CallIntended(NamedTuple):
    """A call with effects follows; in a journal this event is on disk before the call.

    It uses the slot of the approval for this step and item. `key` is the idempotency key of the
    call, the same for every attempt.
    """

    step: str
    item: int | None
    attempt: int
    key: str
    at: float


class CallAnsweredLate(NamedTuple):
    """A call that was given up has ended; its result was discarded.

    `failure` is None if it succeeded. For a call in doubt this is its outcome.
    """

    step: str
    item: int | None
    attempt: int
    failure: Failure | None
    at: float


class CallInDoubt(NamedTuple):
    """The outcome of a call with effects is unknown, and it may not be repeated.

    The step waits for a decision; other steps continue. `tool` and `args` are the call; `result` is
    what came back and cannot be used: `{"json": …}`, `{"text": …}`, or None if nothing came.
    """

    step: str
    item: int | None
    attempt: int
    failure: Failure
    at: float
    tool: str = ""
    args: Json = None
    result: Json = None


class CallDecided(NamedTuple):
    """A person decided about a call in doubt.

    It is `retry`, `resolve` (it took effect and returned `output`) or `abort` (it failed).
    """

    step: str
    item: int | None
    attempt: int
    decision: Decision
    output: Json
    at: float


class ItemEnded(NamedTuple):
    """A call of a step with `for_each` is over; `output` is null if it failed."""

    step: str
    item: int
    output: Json
    attempts: int
    failure: Failure | None
    at: float


class StepProgressed(NamedTuple):
    """A tool reported progress; `total` is None if it is not known."""

    step: str
    done: float
    total: float | None
    message: str
    at: float


class StepSucceeded(NamedTuple):
    """The step succeeded; `failure` is set if `on_error: continue` made its output null."""

    step: str
    output: Json
    attempts: int
    failure: Failure | None
    at: float


class StepFailed(NamedTuple):
    """The step failed."""

    step: str
    failure: Failure
    attempts: int
    at: float


class StepSkipped(NamedTuple):
    """The step will not run; `failure` says why (`when-false`, `upstream-skipped` …)."""

    step: str
    failure: Failure
    at: float


class StepCancelled(NamedTuple):
    """The run was cancelled before the step was over."""

    step: str
    at: float


class RunEnded(NamedTuple):
    """The run is over; `output` is the plan's output, `failure` what is wrong with it."""

    status: RunState
    output: Json
    at: float
    failure: Failure | None = None


StepEvent: TypeAlias = (
    StepStarted
    | CallIntended
    | AttemptFailed
    | CallAnsweredLate
    | CallInDoubt
    | CallDecided
    | ItemEnded
    | StepProgressed
    | StepSucceeded
    | StepFailed
    | StepSkipped
    | StepCancelled
)
RunEvent: TypeAlias = (
    RunStarted
    | StepArrived
    | PlanSettled
    | RunWaiting
    | RunApproved
    | RunResumed
    | RunParked
    | RunEnded
)
Event: TypeAlias = RunEvent | StepEvent


class StepRun(NamedTuple):
    """The state of a step. `items`, `items_done` and `items_failed` count calls of `for_each`."""

    state: StepState = StepState.PENDING
    output: Json = None
    error: Failure | None = None
    started_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    items: int | None = None
    items_done: int = 0
    items_failed: int = 0
    doubts: tuple[CallInDoubt, ...] = ()
    """The calls that wait for a decision."""

    @property
    def in_doubt(self) -> tuple[int | None, ...]:
        """The items of the calls that wait for a decision, None without `for_each`."""
        return tuple(each.item for each in self.doubts)


_PENDING = StepRun()


@dataclass(frozen=True, slots=True, repr=False)
class Run(Shown):
    """The state of a run; `steps` are in plan order; `error` is why `output` is not complete."""

    run: str = ""
    digest: str = ""
    status: RunState = RunState.RUNNING
    steps: Mapping[str, StepRun] = field(default_factory=dict[str, StepRun])
    output: Json = None
    started_at: float | None = None
    ended_at: float | None = None
    approved_at: float | None = None
    is_resumed: bool = False
    error: Failure | None = None

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
        return self.status is RunState.SUCCEEDED


class Folding:
    """A run that takes events in place, each in constant time.

    `apply` defines the meaning of an event, but copies the steps. This makes a single `StepRun` for
    a step that starts and succeeds.
    """

    __slots__ = ("_run", "_starts", "_steps")

    def __init__(self) -> None:
        self._run = Run()
        self._steps: dict[str, StepRun] = {}
        self._starts: dict[str, StepStarted] = {}

    def add(self, event: Event) -> None:
        """Add the next event."""
        # the two most frequent events; a class pattern costs more than a comparison
        if type(event) is StepSucceeded:
            started = self._starts.pop(event.step, None)
            if started is not None:
                self._steps[event.step] = StepRun(
                    StepState.SUCCEEDED,
                    event.output,
                    event.failure,
                    started.at,
                    event.at,
                    event.attempts,
                    started.items,
                )
                return
        elif type(event) is StepStarted and self._steps.get(event.step, _PENDING) is _PENDING:
            self._starts[event.step] = event
            return
        self._add(event)

    def _add(self, event: Event) -> None:
        match event:
            case RunEnded() | RunApproved() | RunWaiting() | RunParked():
                self._run = apply(self._run, event)
            case StepArrived():
                self._steps[event.step] = _PENDING
            case RunStarted() | PlanSettled() | RunResumed():
                self._run = apply(self.run(), event)
                self._steps = dict(self._run.steps)
                self._starts.clear()
            case _:
                step = self._steps.get(event.step, _PENDING)
                if event.step in self._starts:
                    step = _apply_to_step(step, self._starts.pop(event.step))
                self._steps[event.step] = _apply_to_step(step, event)

    def run(self) -> Run:
        """Return the run after the events so far."""
        running = {
            name: _apply_to_step(_PENDING, started) for name, started in self._starts.items()
        }
        return replace(self._run, steps={**self._steps, **running})


def fold(events: Iterable[Event]) -> Run:
    """Return the run after `events`."""
    folding = Folding()
    for event in events:
        folding.add(event)
    return folding.run()


def apply(run: Run, event: Event) -> Run:
    """Return `run` after `event`."""
    match event:
        case RunStarted(run=name, digest=digest, steps=steps, at=at):
            return Run(name, digest, steps=dict.fromkeys(steps, _PENDING), started_at=at)
        case StepArrived(step=name):
            return replace(run, steps={**run.steps, name: _PENDING})
        case PlanSettled(digest=digest, steps=steps):
            return replace(
                run, digest=digest, steps={name: run.steps.get(name, _PENDING) for name in steps}
            )
        case RunWaiting():
            return replace(run, status=RunState.WAITING)
        case RunApproved(at=at):
            return replace(run, status=RunState.RUNNING, approved_at=at)
        case RunResumed():
            steps = {name: _resumed(step) for name, step in run.steps.items()}
            again = replace(run, status=RunState.RUNNING, steps=steps, is_resumed=True)
            return replace(again, output=None, error=None, ended_at=None)
        case RunParked(status=status):
            return replace(run, status=status)
        case RunEnded(status, output, at, failure):
            return replace(run, status=status, output=output, error=failure, ended_at=at)
        case _:
            before = run.steps.get(event.step, _PENDING)
            return replace(run, steps={**run.steps, event.step: _apply_to_step(before, event)})


def to_json(run: Run) -> dict[str, Json]:
    """Return `run` as JSON, without an answer."""
    steps: Json = {name: _step_to_json(step) for name, step in run.steps.items()}
    known: dict[str, Json] = {"run": run.run, "status": run.status.value, "steps": steps}
    error: dict[str, Json] = {} if run.error is None else {"error": dict(run.error._asdict())}
    return {**known, "output": run.output, **error}


def _apply_to_step(step: StepRun, event: StepEvent) -> StepRun:
    match event:
        case StepStarted(items=items, at=at):
            return step._replace(state=StepState.RUNNING, started_at=at, items=items)
        case AttemptFailed(attempt=attempt):
            return step._replace(attempts=attempt)
        case ItemEnded(failure=failure):
            failed = step.items_failed + (failure is not None)
            return step._replace(items_done=step.items_done + 1, items_failed=failed)
        case StepProgressed() | CallIntended() | CallAnsweredLate():
            return step
        case CallInDoubt(failure=failure):
            doubts = (*step.doubts, event)
            return step._replace(state=StepState.IN_DOUBT, error=failure, doubts=doubts)
        case CallDecided(item=item):
            left = tuple(each for each in step.doubts if each.item != item)
            state = StepState.IN_DOUBT if left else StepState.RUNNING
            return step._replace(state=state, doubts=left)
        case StepSucceeded(output=output, attempts=attempts, failure=failure, at=at):
            return step._replace(
                state=StepState.SUCCEEDED,
                output=output,
                attempts=attempts,
                error=failure,
                ended_at=at,
            )
        case StepFailed(failure=failure, attempts=attempts, at=at):
            return step._replace(
                state=StepState.FAILED, error=failure, attempts=attempts, ended_at=at
            )
        case StepSkipped(failure=failure, at=at):
            return step._replace(state=StepState.SKIPPED, error=failure, ended_at=at)
        case StepCancelled(at=at):
            return step._replace(state=StepState.CANCELLED, ended_at=at)


_OVER = frozenset((StepState.SUCCEEDED, StepState.FAILED, StepState.SKIPPED))


def _resumed(step: StepRun) -> StepRun:
    """Return the state of `step` after a resumption."""
    if step.state in _OVER:
        return step
    if step.items is None:
        return _PENDING
    return StepRun(items=step.items, items_done=step.items_done, items_failed=step.items_failed)


def _step_to_json(step: StepRun) -> Json:
    document: dict[str, Json] = {
        "state": step.state.value,
        "output": step.output,
        "error": None if step.error is None else dict(step.error._asdict()),
        "started_at": step.started_at,
        "ended_at": step.ended_at,
        "attempts": step.attempts,
    }
    if step.in_doubt:
        document["in_doubt"] = [*step.in_doubt]
        document["calls_in_doubt"] = [
            {"item": item, "tool": tool, "args": args, "reason": reason.message, "result": result}
            for _, item, _, reason, _, tool, args, result in step.doubts
        ]
    return document
