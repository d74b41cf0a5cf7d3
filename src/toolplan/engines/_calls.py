"""The calls of a run: what is called, how much at once, and how far each has come."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable, Mapping
from math import inf
from typing import Final, NamedTuple, TypeAlias

from toolplan.events import Failure
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.tools import Arguments, Call, Tool

Clock: TypeAlias = Callable[[], float]
"""Gives the seconds since the epoch."""

MAX_BACKOFF_S: Final = 5.0


class CannotRun(ValueError):
    """A plan cannot be run with these tools or limits; nothing of it was started."""


class Bounds(NamedTuple):
    """How much at once, and how long.

    Attributes:
        concurrency: the most calls that run at the same time.
        timeout_s: seconds for each try of a call, where its step says nothing.
        backoff_s: seconds before the second try; doubled before each further one, up to 5 s.
        grace_s: seconds that cancelled calls have to end before they are left behind.
        result_size: the most characters and values that one result may have.
    """

    concurrency: int = 32
    timeout_s: float = 60.0
    backoff_s: float = 0.1
    grace_s: float = 1.0
    result_size: int = 100_000_000


class OpenCall:
    """One try of one call. It is open until its outcome is known; what comes later is discarded."""

    __slots__ = ("args", "attempt", "deadline", "function", "index", "position", "task", "tool")

    def __init__(
        self,
        position: int,
        index: int | None,
        tool: Tool,
        function: Call,
        args: Arguments,
        attempt: int,
    ) -> None:
        self.position = position
        self.index = index
        self.tool = tool
        self.function = function
        self.args = args
        self.attempt = attempt
        self.deadline = inf
        self.task: Task[None] | None = None


class Fan:
    """The calls of a step with `for_each`, as far as they have come."""

    __slots__ = ("attempts", "failed_at", "failure", "items", "next", "outputs", "running", "stops")

    def __init__(self, items: list[Json], stops: bool) -> None:
        self.items = items
        self.stops = stops
        self.outputs: list[Json] = [None] * len(items)
        self.next = 0
        self.running = 0
        self.attempts = 0
        self.failure: Failure | None = None
        self.failed_at = len(items)

    @property
    def exhausted(self) -> bool:
        """Whether no further call will start."""
        return self.next == len(self.items) or (self.stops and self.failure is not None)


def callees(
    plan: ExecutionPlan, tools: Mapping[str, Tool], limits: Limits
) -> list[tuple[Tool, Call]]:
    """Give the tool of each step with its function, in the order in which the plan is written.

    Raises:
        CannotRun: a tool is not there, has no function or an unusable schema, or there are more
            steps than `limits` allow.
    """
    steps = plan.plan.steps
    if len(steps) > limits.steps:
        raise CannotRun(f"The plan has {len(steps)} steps; the limit is {limits.steps}.")
    found: dict[str, tuple[Tool, Call]] = {}
    without: list[str] = []
    for name in dict.fromkeys(step.tool for step in steps):
        tool = tools.get(name)
        if tool is None or tool.call is None:
            without.append(name)
        elif tool.unusable is not None:
            raise CannotRun(f"Tool {name!r} cannot be used: {tool.unusable}.")
        else:
            found[name] = (tool, tool.call)
    if without:
        names = ", ".join(map(repr, without))
        raise CannotRun(f"There is nothing to call for: {names}.")
    return [found[step.tool] for step in steps]
