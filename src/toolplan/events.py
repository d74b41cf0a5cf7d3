"""What happens in a run, as values, and the run itself: a fold of its events.

There is no other state. An engine emits events; whoever wants to know how a run stands folds them:
`fold(events)` for all of them, `apply(run, event)` for one more. Folding is a pure function, so a
journal, a progress display and an answer all see the same run.

Times are seconds since the epoch, from the clock that the engine was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from toolplan.path import Json


class StepState(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    IN_DOUBT = "in_doubt"


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    IN_DOUBT = "in_doubt"


Decision: TypeAlias = Literal["retry", "resolve", "abort"]
"""What a person may decide about a call in doubt."""


class Failure(NamedTuple):
    """Why a step did not succeed.

    `code` is a kebab-case name: `tool-error`, `timeout`, `argument-type`, `upstream-failed` …
    `pointer` leads into the step: `/args/location`.
    """

    code: str
    message: str
    pointer: str = ""


class RunStarted(NamedTuple):
    """The run was accepted: `steps` are the plan's step ids as written, `digest` is the plan's.

    Of a plan that is still being written `steps` are none and `digest` is empty: `StepArrived`
    tells of each step, and `PlanSettled` of the whole.
    """

    run: str
    digest: str
    steps: tuple[str, ...]
    at: float


class StepArrived(NamedTuple):
    """A plan that is still being written has one step more."""

    step: str
    at: float


class PlanSettled(NamedTuple):
    """The plan is whole and checked; `steps` are its ids as written, `digest` is its own."""

    digest: str
    steps: tuple[str, ...]
    at: float


class RunWaiting(NamedTuple):
    """The run waits for an approval of the plan's digest; nothing with effects has started."""

    at: float


class RunApproved(NamedTuple):
    """The plan's effects may happen, once: `approval` names the leave that was given."""

    approval: str
    digest: str
    at: float


class RunResumed(NamedTuple):
    """Another process, or the same one again, goes on with the run.

    Steps that were cancelled or under way stand as if they had not started; what is over stays.
    """

    at: float


class RunParked(NamedTuple):
    """Nothing is left that could go on without a person: `status` is `waiting` or `in_doubt`."""

    status: RunState
    at: float


class StepStarted(NamedTuple):
    """The inputs are there and the first call is about to be made; `items` counts `for_each`."""

    step: str
    items: int | None
    at: float


class AttemptFailed(NamedTuple):
    """One try of a call failed and another follows; `item` is the position in `for_each`."""

    step: str
    item: int | None
    attempt: int
    failure: Failure
    at: float


class CallIntended(NamedTuple):
    """A call with effects is about to be made: where there is a journal, this is on disk first.

    It takes the slot that the approval has for this step and item. `key` is the call's idempotency
    key, the same for every try.
    """

    step: str
    item: int | None
    attempt: int
    key: str
    at: float


class CallAnsweredLate(NamedTuple):
    """A call that was given up came back all the same; its result was discarded.

    `failure` None means that it gave a result. Of a call with effects this tells a person what
    became of it.
    """

    step: str
    item: int | None
    attempt: int
    failure: Failure | None
    at: float


class CallInDoubt(NamedTuple):
    """Nobody knows whether a call with effects did its work, and it may not be made again.

    The step stands still until a person decides; other steps go on.
    """

    step: str
    item: int | None
    attempt: int
    failure: Failure
    at: float


class CallDecided(NamedTuple):
    """A person decided about a call in doubt.

    `decision` is `retry` (make it again), `done` (it did its work and gave `output`) or `abort`
    (it failed).
    """

    step: str
    item: int | None
    attempt: int
    decision: Decision
    output: Json
    at: float


class ItemEnded(NamedTuple):
    """One call of a step with `for_each` is over; `output` is null where it failed."""

    step: str
    item: int
    output: Json
    attempts: int
    failure: Failure | None
    at: float


class StepProgressed(NamedTuple):
    """A tool tells how far it is; `total` None where it does not know."""

    step: str
    done: float
    total: float | None
    message: str
    at: float


class StepSucceeded(NamedTuple):
    """The output is final. `failure` is set where `on_error: continue` made it null."""

    step: str
    output: Json
    attempts: int
    failure: Failure | None
    at: float


class StepFailed(NamedTuple):
    """The step is over and gives nothing."""

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
    """The run is over; `output` is the plan's output."""

    status: RunState
    output: Json
    at: float


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
    """How one step stands. `items` counts the calls of `for_each`.

    `items_done` are those that are over, and `items_failed` those of them that failed.

    `in_doubt` are the calls that a person has to decide about, each by its item, None without
    `for_each`.
    """

    state: StepState = StepState.PENDING
    output: Json = None
    error: Failure | None = None
    started_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    items: int | None = None
    items_done: int = 0
    items_failed: int = 0
    in_doubt: tuple[int | None, ...] = ()


_PENDING = StepRun()


@dataclass(frozen=True, slots=True)
class Run:
    """How a run stands. `steps` are in the order in which the plan was written."""

    run: str = ""
    digest: str = ""
    status: RunState = RunState.RUNNING
    steps: Mapping[str, StepRun] = field(default_factory=dict[str, StepRun])
    output: Json = None
    started_at: float | None = None
    ended_at: float | None = None
    approved_at: float | None = None
    is_resumed: bool = False

    @property
    def took_s(self) -> float | None:
        """Seconds from the start to the end, None where it has none; nobody's thinking counts.

        Of a run that was resumed, the time in which nobody worked on it is among them.
        """
        begun = self.started_at if self.approved_at is None else self.approved_at
        return None if begun is None or self.ended_at is None else self.ended_at - begun

    @property
    def succeeded(self) -> bool:
        """Whether the run ended well."""
        return self.status is RunState.SUCCEEDED


class Folding:
    """A run on its way: takes one event after the other, each in constant time.

    `apply` says what an event means, and leaves the run before it as it was, for which it copies
    the steps. This does not, and makes one `StepRun` for a step that simply starts and succeeds.
    """

    __slots__ = ("_run", "_starts", "_steps")

    def __init__(self) -> None:
        self._run = Run()
        self._steps: dict[str, StepRun] = {}
        # starts of steps about which nothing else has been told since
        self._starts: dict[str, StepStarted] = {}

    def add(self, event: Event) -> None:
        """Take the next event."""
        # nearly every event is one of these two, and a class pattern costs more than a comparison
        if type(event) is StepSucceeded:
            begun = self._starts.pop(event.step, None)
            if begun is not None:
                self._steps[event.step] = StepRun(
                    StepState.SUCCEEDED,
                    event.output,
                    event.failure,
                    begun.at,
                    event.at,
                    event.attempts,
                    begun.items,
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
        """Return the run as the events so far tell it."""
        running = {name: _apply_to_step(_PENDING, begun) for name, begun in self._starts.items()}
        return replace(self._run, steps={**self._steps, **running})


def fold(events: Iterable[Event]) -> Run:
    """Return the run that `events` tell of, in order: what `apply` gives, one after the other."""
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
            return replace(again, output=None, ended_at=None)
        case RunParked(status=status):
            return replace(run, status=status)
        case RunEnded(status=status, output=output, at=at):
            return replace(run, status=status, output=output, ended_at=at)
        case _:
            before = run.steps.get(event.step, _PENDING)
            return replace(run, steps={**run.steps, event.step: _apply_to_step(before, event)})


def to_json(run: Run) -> dict[str, Json]:
    """Return the wire form of `run`, without an answer."""
    return {
        "run": run.run,
        "status": run.status.value,
        "steps": {name: _step_to_json(step) for name, step in run.steps.items()},
        "output": run.output,
    }


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
        case CallInDoubt(item=item, failure=failure):
            in_doubt = (*step.in_doubt, item)
            return step._replace(state=StepState.IN_DOUBT, error=failure, in_doubt=in_doubt)
        case CallDecided(item=item):
            left = tuple(each for each in step.in_doubt if each != item)
            state = StepState.IN_DOUBT if left else StepState.RUNNING
            return step._replace(state=state, in_doubt=left)
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
    """Return a step as it stands when its run is taken up again: what is over stays."""
    if step.state in _OVER:
        return step
    if step.items is None:
        return _PENDING
    return StepRun(items=step.items, items_done=step.items_done, items_failed=step.items_failed)


def _step_to_json(step: StepRun) -> Json:
    told: dict[str, Json] = {
        "state": step.state.value,
        "output": step.output,
        "error": None if step.error is None else dict(step.error._asdict()),
        "started_at": step.started_at,
        "ended_at": step.ended_at,
        "attempts": step.attempts,
    }
    if step.in_doubt:
        told["in_doubt"] = [*step.in_doubt]
    return told
