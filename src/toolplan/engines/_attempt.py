"""One attempt of a call, while it is in flight."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Awaitable, Mapping
from math import inf
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

from toolplan import traces
from toolplan.engines._calls import CannotRun
from toolplan.events import Failure, ItemEnded, StepFailed, StepSucceeded
from toolplan.path import Json
from toolplan.plan import Step
from toolplan.tools import Arguments, Call, StatedLabel, Tool, ToolCall

NOTHING_SAID: Final[Mapping[str, Json]] = MappingProxyType({})


class CallOwner(Protocol):
    """The calls in flight of a run, as far as one of them needs it."""

    def identity(self, call: InFlightCall) -> ToolCall:
        """Return which call it is."""
        ...

    def progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        """Report the progress of a call."""


class InFlightCall(Struct, eq=False):
    """One attempt of one call. It is open until its outcome is known; a later result is discarded.

    `first` is the number of the first attempt in this process, `made` says that the tool was
    called, and `late` is the result of a call that was given up. `stated` is the label that its
    tool states for the result, `said` what it reports beside it about further pages. `page` is the
    page that it asks for, of a step with `pages`. `size` is about the bytes of its arguments.
    """

    owner: CallOwner
    position: int
    index: int | None
    step: Step
    tool: Tool
    args: Arguments
    size: int = 0
    attempt: int = 1
    first: int = 1
    made: bool = False
    began: float = 0.0
    page: int | None = None
    said: Mapping[str, Json] = NOTHING_SAID
    late: Late | None = None
    stated: StatedLabel | None = None
    deadline: float = inf
    task: Task[None] | None = None

    def identity(self) -> ToolCall:
        """Return which call it is, for `current_call`."""
        return self.owner.identity(self)

    @property
    def function(self) -> Call:
        """The function to call; `callees` has checked that there is one."""
        if self.tool.call is None:
            raise CannotRun(f"There is no function to call for: {self.tool.name!r}.")
        return self.tool.call

    def traced_result(self) -> Awaitable[Json]:
        """Call the tool in a span of its own."""
        return traces.traced_call(self.function, self.args, self.tool, self.identity())

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Take the progress that the tool reports."""
        self.owner.progress(self, done, total, message)

    def report_page(self, said: Mapping[str, Json]) -> None:
        """Take what the tool reports about further pages."""
        self.said = dict(said)

    def state_label(self, stated: StatedLabel) -> None:
        """Take the label that the tool states for the result; the least of several counts."""
        before = self.stated
        if before is not None:
            untrusted = before.is_untrusted or stated.is_untrusted
            stated = StatedLabel(untrusted, before.is_secret or stated.is_secret)
        self.stated = stated


class Late(Struct, frozen=True):
    """The outcome of a call that was given up: an answer, or what the tool raised.

    `returned` is what came back although the tool raised, as in `CallInDoubt`.
    """

    answer: object
    failure: Failure | None
    returned: Json = None


def outcome_event(
    call: InFlightCall, outcome: Json | Failure, at: float
) -> ItemEnded | StepSucceeded | StepFailed:
    """Return the event of the outcome of a call after which no other follows."""
    step, attempt = call.step.id, call.attempt
    failure = outcome if isinstance(outcome, Failure) else None
    output = None if isinstance(outcome, Failure) else outcome
    if call.index is not None:
        return ItemEnded(step, call.index, output, attempt, failure, at)
    if failure is None:
        return StepSucceeded(step, output, attempt, None, at)
    return StepFailed(step, failure, attempt, at)
