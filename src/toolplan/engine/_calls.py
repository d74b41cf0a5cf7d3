"""The calls of a run: options, single calls, and the calls of a step with `for_each`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypedDict, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.base.errors import ToolplanError
from toolplan.engine._values import MAX_VALUE_SIZE
from toolplan.events import Failure, ItemEnded, Partial
from toolplan.plan.model import Limits, Step
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool, Toolbox, ToolObjectError

Clock: TypeAlias = Callable[[], float]
"""Returns the seconds since the epoch."""

MAX_BACKOFF_S: Final = 5.0


class CannotRun(ToolplanError, ValueError):
    """A plan cannot be run with these tools or limits; no call was made."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__("cannot-run", message, help)


def no_call_waits(place: str) -> CannotRun:
    """Return the error for a decision on calls, at `place`, that do not wait for a person."""
    return CannotRun(
        f"No call {place} waits for a person.", "`toolplan show RUN` shows what waits."
    )


def no_call_in_doubt(place: str, why: str = "") -> CannotRun:
    """Return the error for a decision on a call, at `place`, that is not in doubt."""
    message = f"There is no call in doubt for {place}{why}."
    return CannotRun(message, "`toolplan show RUN` shows those in doubt.")


def check_plan(plan: object) -> None:
    """Check that `plan` is an ExecutionPlan.

    Raises:
        CannotRun: it is something else.
    """
    if not isinstance(plan, ExecutionPlan):
        raise CannotRun(
            f"An ExecutionPlan is needed, not {type(plan).__name__!r}.",
            "Pass `compile_plan(...).plan`; where it is None, look at the diagnostics.",
        )


def tools_of(tools: Mapping[str, Tool] | Sequence[Tool]) -> Mapping[str, Tool]:
    """Return `tools` by name.

    Raises:
        ToolObjectError: they are neither a toolbox nor a list of tools.
    """
    if isinstance(tools, Mapping):
        return tools
    if isinstance(cast("object", tools), Sequence):
        return Toolbox(tools)
    raise ToolObjectError(
        f"Tools must be a Toolbox or a list of tools, not {type(tools).__name__!r}.",
        "toolplan.toolbox_of makes a toolbox of a module or an object.",
    )


class SharedLimit(Protocol):
    """A limit on concurrent calls that runs share, on this machine and on others."""

    def ask(self, granted: Callable[[], None]) -> None:
        """Call `granted` later in the event loop, when one more call may be made."""

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Take back an `ask`."""

    def release(self) -> None:
        """Release the grant."""


class Options(TypedDict, total=False):
    """The fields of `RunOptions`, as keyword arguments of `run` and `resume`."""

    concurrency: int
    timeout_s: float
    backoff_s: float
    grace_s: float
    result_size: int
    value_size: int
    run_size: int
    tool_concurrency: Mapping[str, int]
    source_concurrency: Mapping[str, int]
    journal_timeout_s: float
    shared_limits: Mapping[str, SharedLimit]


class RunOptions(Struct, frozen=True):
    """Concurrency, timeouts and sizes of a run.

    Attributes:
        concurrency: maximum number of concurrent calls. When it is reached, steps on the critical
            path start first.
        timeout_s: seconds for each attempt of a call, unless its step has a timeout.
        backoff_s: seconds before the second attempt; doubled before each further one, up to 5 s.
        grace_s: seconds to wait for cancelled calls to end.
        result_size: maximum number of characters and values of one result.
        value_size: maximum bytes, estimated, of the arguments of a call, or of the plan's output;
            more fails the step, or the run, before it is built.
        run_size: maximum bytes, estimated, of all results of the run together. No call starts while
            the arguments of those in flight take more.
        tool_concurrency: maximum number of concurrent calls of single tools, by name.
        source_concurrency: maximum number of concurrent calls of all tools of a source, by name.
        journal_timeout_s: seconds to retry a journal that cannot be written.
        shared_limits: limits that other runs share, by the names of tools and sources.
    """

    concurrency: int = 32
    timeout_s: float = 60.0
    backoff_s: float = 0.1
    grace_s: float = 1.0
    result_size: int = 100_000_000
    value_size: int = MAX_VALUE_SIZE
    run_size: int = 250_000_000
    tool_concurrency: Mapping[str, int] = MappingProxyType({})
    source_concurrency: Mapping[str, int] = MappingProxyType({})
    journal_timeout_s: float = 30.0
    shared_limits: Mapping[str, SharedLimit] = MappingProxyType({})

    def arguments(self) -> Options:
        """Return the fields as arguments of `run` and `resume`."""
        return Options(**asdict(self))


class Fan:
    """The state of the calls of a step with `for_each`."""

    def __init__(
        self,
        items: list[Json],
        stops: bool,
        over: Mapping[int, ItemEnded] = MappingProxyType({}),
        begun: Iterable[int] = (),
    ) -> None:
        """Begin where an earlier process stopped: items `over` ended, those `begun` started."""
        self.items = items
        self.stops = stops
        self.again = sorted(begun, reverse=True)
        self._skip = {*over, *self.again}
        self.outputs: list[Json] = [None] * len(items)
        self.next = 0
        self.running = 0
        self.left = 0  # calls that a person decides about
        self.decided: list[int] = []
        self.attempts = 0
        self.failure: Failure | None = None
        self.failed_at = len(items)
        self.partial: dict[int, tuple[Partial, ...]] = {}
        for index, ended in over.items():
            self.note(index, ended.output, ended.failure, ended.attempts, ended.partial)
        self._pass_over()

    @property
    def exhausted(self) -> bool:
        """Whether no further call will start."""
        stopped = self.stops and self.failure is not None
        if self.decided and not self.again:  # in order: those before the one that failed start
            return stopped and self.failed_at < self.decided[-1]
        return not self.again and (stopped or self.next == len(self.items))

    def take_next(self) -> int:
        """Return the item whose call starts next; first those that an earlier process started."""
        if self.again:
            return self.again.pop()
        if self.decided:
            return self.decided.pop()
        index = self.next
        self.next += 1
        self._pass_over()
        return index

    @property
    def complete(self) -> bool:
        """Whether all calls are over."""
        return not self.running and not self.left and self.exhausted

    def retake(self, items: Iterable[int]) -> None:
        """Let the calls of `items` start again, which were left until a person decided."""
        self.decided = sorted(items, reverse=True)
        self.left -= len(self.decided)

    def note(
        self, index: int, output: Json, failure: Failure | None, attempts: int,
        partial: tuple[Partial, ...] = (),
    ) -> None:  # fmt: skip
        """Keep the outcome of an item, and the lists of which it has a part."""
        self.outputs[index] = output
        if partial:
            self.partial[index] = partial
        self.attempts = max(self.attempts, attempts)
        if failure is not None and index < self.failed_at:
            # first in order, not in time: the items before it have started
            self.failed_at = index
            self.failure = replace(failure, message=f"Item {index}: {failure.message}")

    def _pass_over(self) -> None:
        while self.next in self._skip:
            self.next += 1


def can_page(tool: Tool) -> bool:
    """Return whether a step of `tool` may have `pages`: it only reads, and its list has pages."""
    return not tool.has_effects and tool.paging is not None and tool.paging.can_page


def callees(
    steps: Sequence[Step], tools: Mapping[str, Tool], limits: Limits, before: int = 0
) -> list[Tool]:
    """Return the tool of each of `steps`; `before` is the number of earlier steps.

    Raises:
        CannotRun: a tool is missing, has no function or an unusable schema, or there are more steps
            than `limits` allow.
    """
    count = before + len(steps)
    if count > limits.steps:
        raise CannotRun(f"The plan has {count} steps; the limit is {limits.steps}.")
    used = {step.tool: tools.get(step.tool) for step in steps}
    found = {
        name: tool for name, tool in used.items() if tool is not None and tool.call is not None
    }
    if len(found) < len(used):
        names = ", ".join(repr(name) for name in used if name not in found)
        raise CannotRun(f"There is no function to call for: {names}.")
    for name, tool in found.items():
        if tool.unusable is not None:
            raise CannotRun(f"Tool {name!r} cannot be used: {tool.unusable}.")
    for step in steps:
        if step.pages is not None and not can_page(found[step.tool]):
            raise CannotRun(
                f"Step {step.id!r} asks for all pages of {step.tool!r}, which has none, or has"
                " effects."
            )
    return [found[step.tool] for step in steps]


def too_many_calls(limits: Limits) -> Failure:
    """Return the failure of a call beyond the limit."""
    return Failure("too-many-calls", f"The run would make more than {limits.calls} calls.")
