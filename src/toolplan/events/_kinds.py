"""The events of a run. Times are seconds since the epoch, from the clock of the engine.

Tags and the order of fields belong to the file format of the journal: a class may be renamed, a tag
may not, and a new field comes last with a default.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from toolplan.plan.path import Json
else:
    Json = Any  # msgspec reads no recursive types


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


class _Array(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A JSON array: of its tag, where it has one, and its fields."""


class _OfStep(_Array, frozen=True):
    step: str


class _OfCall(_OfStep, frozen=True):
    """An event of an attempt of a call; `item` is the position of the call in `for_each`."""

    item: int | None
    attempt: int


class Failure(_Array, frozen=True):
    """Why a step did not succeed.

    `code` is a kebab-case name, as `tool-error` or `upstream-failed`; `pointer` is a JSON Pointer
    into the step, as `/args/location`.
    """

    code: str
    message: str
    pointer: str = ""


class Partial(_Array, frozen=True):
    """A list of which a run has, or may have, only a part.

    `step` made it; `rows` is how many are there, and `total` how many there are, None where that is
    not known. `reason` is a kebab-case name: `limit` (as many rows as were asked for), `total`,
    `at-least` (the total is a lower bound), `has-more`, `next-page`, `cursor` (a text resembles
    one), `pages`, `max-pages`, `round`, `start`, `unknown`. `total_path` leads to the total in the
    result of the step: it counts all rows.
    """

    step: str
    rows: int
    total: int | None
    reason: str
    total_path: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The part in words, as `the first 50 rows of 'tickets'; the tool may have more`."""
        more = _REASONS.get(self.reason, "the tool may have more")
        if self.total is not None and self.total > self.rows:
            return f"{self.rows:,} of the {self.total:,} rows of {self.step!r}"
        return f"the first {self.rows:,} rows of {self.step!r}; {more}"


_REASONS: Final = {
    "has-more": "the tool has more",
    "next-page": "the tool has more",
    "total": "the tool has more",
    "pages": "the tool has more",
    "max-pages": "`max_pages` allows no more pages",
    "start": "the call leaves out the rows before",
    "unknown": "nothing says whether the tool has more",
}


class RunStarted(_Array, frozen=True, tag="run-started"):
    """The run was accepted, with the ids of its steps in plan order and the digest of the plan.

    Both are empty for a streamed plan: `StepArrived` and `PlanSettled` follow.
    """

    run: str
    digest: str
    steps: tuple[str, ...]
    at: float


class StepArrived(_OfStep, frozen=True, tag="step-arrived"):
    """A streamed plan has one more step."""

    at: float


class PlanSettled(_Array, frozen=True, tag="plan-settled"):
    """A streamed plan is complete and checked; `steps` are its ids in order."""

    digest: str
    steps: tuple[str, ...]
    at: float


class RunWaiting(_Array, frozen=True, tag="run-waiting"):
    """The run waits for an approval; no step with effects has started."""

    at: float


class RunApproved(_Array, frozen=True, tag="run-approved"):
    """The plan was approved; `approval` is the id of the approval, `by` who gave it if known."""

    approval: str
    digest: str
    at: float
    by: str = ""


class ApprovalStaged(_Array, frozen=True, tag="approval-staged"):
    """Each call with effects of the run is approved by itself, once its arguments are known.

    `shapes` are the steps that were approved as they stand in the plan.
    """

    digest: str
    shapes: tuple[str, ...]
    at: float


class RunResumed(_Array, frozen=True, tag="run-resumed"):
    """The run was resumed; steps that were running or cancelled are pending again."""

    at: float


class RunParked(_Array, frozen=True, tag="run-parked"):
    """No step can continue without a person: `status` is `waiting` or `in_doubt`."""

    status: RunState
    at: float


class StepStarted(_OfStep, frozen=True, tag="step-started"):
    """A step has its inputs, and its first call follows; `items` is the length of `for_each`."""

    items: int | None
    at: float


class AttemptFailed(_OfCall, frozen=True, tag="attempt-failed"):
    """An attempt failed and another follows; `item` is the position in `for_each`."""

    failure: Failure
    at: float


class CallIntended(_OfCall, frozen=True, tag="call-intended"):
    """A call with effects follows; in a journal this event is on disk before the call.

    It uses the slot of the approval for this step and item. `key` is the idempotency key of the
    call, the same for every attempt.
    """

    key: str
    at: float


class CallAnsweredLate(_OfCall, frozen=True, tag="call-answered-late"):
    """A call that was given up has ended; its result was discarded.

    `failure` is None if it succeeded. For a call in doubt this is its outcome.
    """

    failure: Failure | None
    at: float


class CallInDoubt(_OfCall, frozen=True, tag="call-in-doubt"):
    """The outcome of a call with effects is unknown, and it may not be repeated.

    The step waits for a decision; other steps continue. `tool` and `args` are the call; `result` is
    what came back and cannot be used: `{"json": …}`, `{"text": …}`, or None if nothing came.
    """

    failure: Failure
    at: float
    tool: str = ""
    args: Json = None
    result: Json = None


class CallDecided(_OfCall, frozen=True, tag="call-decided"):
    """A person decided about a call in doubt.

    It is `retry`, `resolve` (it took effect and returned `output`) or `abort` (it failed). `by` is
    who, if known.
    """

    decision: Decision
    output: Json
    at: float
    by: str = ""


class CallWaiting(_OfStep, frozen=True, tag="call-waiting"):
    """A call with effects has its arguments, and waits until a person allows or refuses it.

    `digest` is that of the call (`consent.call_digest`). `origins` says where its values come from
    (`consent.Origin`).
    """

    item: int | None
    tool: str
    args: Json
    origins: Json
    digest: str
    at: float


class ConsentGiven(_OfStep, frozen=True, tag="consent-given"):
    """A person allowed calls that waited, or refused them with a reason.

    `calls` are the items, None without `for_each`, each with the digest of the call that was shown.
    `by` is who, if known.
    """

    allowed: bool
    calls: tuple[tuple[int | None, str], ...]
    reason: str
    at: float
    by: str = ""


class ItemEnded(_OfStep, frozen=True, tag="item-ended"):
    """A call of a step with `for_each` is over; `output` is null if it failed."""

    item: int
    output: Json
    attempts: int
    failure: Failure | None
    at: float
    partial: tuple[Partial, ...] = ()


class PageEnded(_OfStep, frozen=True, tag="page-ended"):
    """One page of a call of a step with `pages` is there; `page` counts from 0.

    `said` is what came beside the result about further pages, as headers say it.
    """

    item: int | None
    page: int
    output: Json
    attempts: int
    said: Json
    at: float


class StepProgressed(_OfStep, frozen=True, tag="step-progressed"):
    """A tool reported progress; `total` is None if it is not known."""

    done: float
    total: float | None
    message: str
    at: float


class StepSucceeded(_OfStep, frozen=True, tag="step-succeeded"):
    """The step succeeded; `failure` is set if `on_error: continue` made its output null.

    `partial` are the lists of which its output knows a part only: its own, and those that it read.
    """

    output: Json
    attempts: int
    failure: Failure | None
    at: float
    partial: tuple[Partial, ...] = ()


class StepFailed(_OfStep, frozen=True, tag="step-failed"):
    """The step failed."""

    failure: Failure
    attempts: int
    at: float


class StepSkipped(_OfStep, frozen=True, tag="step-skipped"):
    """The step will not run; `failure` says why (`when-false`, `upstream-skipped` …)."""

    failure: Failure
    at: float


class StepCancelled(_OfStep, frozen=True, tag="step-cancelled"):
    """The run was cancelled before the step was over."""

    at: float


class RunEnded(_Array, frozen=True, tag="run-ended"):
    """The run is over; `output` is the plan's output, `failure` what is wrong with it.

    `partial` are the lists of which the output knows a part only.
    """

    status: RunState
    output: Json
    at: float
    failure: Failure | None = None
    partial: tuple[Partial, ...] = ()


StepEvent: TypeAlias = (
    StepStarted
    | CallIntended
    | AttemptFailed
    | CallAnsweredLate
    | CallInDoubt
    | CallDecided
    | CallWaiting
    | ConsentGiven
    | ItemEnded
    | PageEnded
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
    | ApprovalStaged
    | RunResumed
    | RunParked
    | RunEnded
)
Event: TypeAlias = RunEvent | StepEvent
