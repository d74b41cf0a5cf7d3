"""One attempt of a call, while it is in flight, and the deadlines of all attempts."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task, TimerHandle
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

from toolplan.engine._calls import CannotRun
from toolplan.events import Failure, traces
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Tool
from toolplan.schema.tool_call import StatedLabel, ToolCall

_NOTHING_SAID: Final[Mapping[str, Json]] = MappingProxyType({})


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
    said: Mapping[str, Json] = _NOTHING_SAID
    late: LateResult | None = None
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


class LateResult(Struct, frozen=True):
    """The outcome of a call that was given up: an answer, or what the tool raised.

    `returned` is what came back although the tool raised, as in `CallInDoubt`.
    """

    answer: object
    failure: Failure | None
    returned: Json = None


class Deadlines:
    """The open calls; `on_late` is called for each that misses its deadline.

    A timer for each call would cost more than the rest of its bookkeeping. The one timer is set to
    the earliest deadline; when it fires, all open calls are checked.
    """

    __slots__ = ("_at", "_loop", "_on_late", "_timer", "open")

    def __init__(self, loop: AbstractEventLoop, on_late: Callable[[InFlightCall], None]) -> None:
        self.open: dict[InFlightCall, None] = {}  # a set that keeps its order
        self._loop = loop
        self._on_late = on_late
        self._timer: TimerHandle | None = None
        self._at = inf

    def start(self, call: InFlightCall, seconds: float) -> None:
        """Open `call` with a deadline in `seconds`."""
        self.open[call] = None
        deadline = call.deadline = self._loop.time() + seconds
        if deadline < self._at:
            self._set(deadline)

    def close(self) -> None:
        """Stop the timer."""
        self._set(inf)

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at = at
        self._timer = None if at == inf else self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        now = self._loop.time()
        late = [call for call in self.open if call.deadline <= now]
        for call in late:
            del self.open[call]
        self._set(min((call.deadline for call in self.open), default=inf))
        for call in late:
            self._on_late(call)
