"""The calls of a run: what is called, how much at once, and how far each has come."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias, TypedDict

from toolplan.events import Failure, ItemEnded
from toolplan.path import Json
from toolplan.plan import Limits, Step
from toolplan.tools import Arguments, Call, Tool, ToolCall

Clock: TypeAlias = Callable[[], float]
"""Gives the seconds since the epoch."""

MAX_BACKOFF_S: Final = 5.0


class CannotRun(ValueError):
    """A plan cannot be run with these tools or limits; nothing of it was started."""


class Options(TypedDict, total=False):
    """The fields of `RunOptions`, as `run` and `resume` take them."""

    concurrency: int
    timeout_s: float
    backoff_s: float
    grace_s: float
    result_size: int
    tool_concurrency: Mapping[str, int]
    source_concurrency: Mapping[str, int]
    patience_s: float


class RunOptions(NamedTuple):
    """How much at once, and how long.

    Attributes:
        concurrency: the most calls at once. Steps start in the order of the plan; where there is
            not room for all, the one with the longest way of steps behind it goes first.
        timeout_s: seconds for each try of a call, where its step says nothing.
        backoff_s: seconds before the second try; doubled before each further one, up to 5 s.
        grace_s: seconds that cancelled calls have to end before they are left behind.
        result_size: the most characters and values that one result may have.
        tool_concurrency: the most calls at once of single tools, by name.
        source_concurrency: the most calls at once of all tools of one source, by its name.
        patience_s: seconds for which a journal that cannot be written is tried again.
    """

    concurrency: int = 32
    timeout_s: float = 60.0
    backoff_s: float = 0.1
    grace_s: float = 1.0
    result_size: int = 100_000_000
    tool_concurrency: Mapping[str, int] = MappingProxyType({})
    source_concurrency: Mapping[str, int] = MappingProxyType({})
    patience_s: float = 30.0

    def arguments(self) -> Options:
        """Return the fields as arguments of `run` and `resume`."""
        return Options(**self._asdict())


class CallOwner(Protocol):
    """Who answers for calls to the tools that are called."""

    def identity(self, call: InFlightCall) -> ToolCall:
        """Say which call it is."""
        ...

    def progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        """Take what a tool tells of its call; from any thread."""
        ...


class InFlightCall:
    """One try of one call. It is open until its outcome is known; what comes later is discarded.

    `first` is the number of the first try in this process, `made` says that the tool was called,
    and `late` is what came after the call was given up.
    """

    __slots__ = (
        "args",
        "attempt",
        "began",
        "deadline",
        "first",
        "index",
        "late",
        "made",
        "owner",
        "position",
        "step",
        "task",
        "tool",
    )

    def __init__(
        self,
        owner: CallOwner,
        position: int,
        index: int | None,
        step: Step,
        tool: Tool,
        args: Arguments,
    ) -> None:
        self.owner = owner
        self.position = position
        self.index = index
        self.step = step
        self.tool = tool
        self.args = args
        self.attempt = 1
        self.first = 1
        self.made = False
        self.began = 0.0
        self.late: Late | None = None
        self.deadline = inf
        self.task: Task[None] | None = None

    def identity(self) -> ToolCall:
        """Say which call it is, to the tool that makes it."""
        return self.owner.identity(self)

    @property
    def function(self) -> Call:
        """What is called; that there is something was seen to when the step was taken."""
        if self.tool.call is None:
            raise CannotRun(f"There is nothing to call for: {self.tool.name!r}.")
        return self.tool.call

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Take what the tool tells of it."""
        self.owner.progress(self, done, total, message)


class Late(NamedTuple):
    """What a call that was given up came to: an answer, or what the tool raised."""

    answer: object
    failure: Failure | None


class Fan:
    """The calls of a step with `for_each`, as far as they have come."""

    __slots__ = (
        "_skip",
        "again",
        "attempts",
        "doubts",
        "failed_at",
        "failure",
        "items",
        "next",
        "outputs",
        "running",
        "stops",
    )

    def __init__(
        self,
        items: list[Json],
        stops: bool,
        over: Mapping[int, ItemEnded] = MappingProxyType({}),
        begun: Iterable[int] = (),
    ) -> None:
        """Begin; an earlier process ended the items of `over` and began those of `begun`."""
        self.items = items
        self.stops = stops
        self.again = sorted(begun, reverse=True)
        self._skip = {*over, *self.again}
        self.outputs: list[Json] = [None] * len(items)
        self.next = 0
        self.running = 0
        self.doubts = 0
        self.attempts = 0
        self.failure: Failure | None = None
        self.failed_at = len(items)
        for index, ended in over.items():
            self.note(index, ended.output, ended.failure, ended.attempts)
        self._pass_over()

    @property
    def exhausted(self) -> bool:
        """Whether no further call will start."""
        stopped = self.stops and self.failure is not None
        return not self.again and (stopped or self.next == len(self.items))

    def take_next(self) -> int:
        """Return the item whose call starts next: first those that an earlier process began."""
        if self.again:
            return self.again.pop()
        index = self.next
        self.next += 1
        self._pass_over()
        return index

    @property
    def complete(self) -> bool:
        """Whether all is known that will be."""
        return not self.running and not self.doubts and self.exhausted

    def note(self, index: int, output: Json, failure: Failure | None, attempts: int) -> None:
        """Keep what became of an item."""
        self.outputs[index] = output
        self.attempts = max(self.attempts, attempts)
        if failure is not None and index < self.failed_at:
            # first in order, not in time: items before it have started and are waited for
            self.failed_at = index
            self.failure = failure._replace(message=f"Item {index}: {failure.message}")

    def _pass_over(self) -> None:
        while self.next in self._skip:
            self.next += 1


def callees(
    steps: Sequence[Step], tools: Mapping[str, Tool], limits: Limits, before: int = 0
) -> list[Tool]:
    """Return the tool of each of `steps`, in order; `before` steps were taken earlier.

    Raises:
        CannotRun: a tool is not there, has no function or an unusable schema, or there are more
            steps than `limits` allow.
    """
    count = before + len(steps)
    if count > limits.steps:
        raise CannotRun(f"The plan has {count} steps; the limit is {limits.steps}.")
    found: dict[str, Tool] = {}
    without: list[str] = []
    for name in dict.fromkeys(step.tool for step in steps):
        tool = tools.get(name)
        if tool is None or tool.call is None:
            without.append(name)
        elif tool.unusable is not None:
            raise CannotRun(f"Tool {name!r} cannot be used: {tool.unusable}.")
        else:
            found[name] = tool
    if without:
        names = ", ".join(map(repr, without))
        raise CannotRun(f"There is nothing to call for: {names}.")
    return [found[step.tool] for step in steps]
