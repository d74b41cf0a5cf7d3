"""Doubles: scripted tools with a log of their calls, scripted models and planners, sinks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from toolplan.events import Event, Run, fold
from toolplan.plan.path import Json
from toolplan.planners._base import Attempt, Draft, OnText, Proposal, Question
from toolplan.providers import Ended, ModelError, ModelRequest, Piece, Text, Usage
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.tools.extract import extract_tool

ModelReply: TypeAlias = (
    str | ModelError | Sequence[Piece | ModelError] | Callable[[ModelRequest], str]
)

_CHARS_PER_TOKEN: Final = 4


class ScriptedModel:
    """Returns `replies` one after the other, and then the last one again.

    A reply is a text, which comes in pieces of `piece_chars` characters; an error, which is raised;
    a list of pieces, in which an error is raised at its place (without `Ended` the reply is
    incomplete); or a function from the request to a text. `requests` holds all requests.
    """

    def __init__(
        self,
        replies: str | Sequence[ModelReply],
        *,
        name: str = "scripted:model",
        piece_chars: int = 16,
    ) -> None:
        """Prepare the replies.

        Raises:
            ValueError: there is none.
        """
        self._replies: list[ModelReply] = [replies] if isinstance(replies, str) else [*replies]
        if not self._replies:
            raise ValueError("A scripted model needs at least one reply.")
        self._name = name
        self._piece_chars = piece_chars
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The display name."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the next reply.

        Raises:
            ModelError: the reply is an error.
        """
        at = min(len(self.requests), len(self._replies) - 1)
        self.requests.append(request)
        for piece in self._pieces(request, self._replies[at]):
            if isinstance(piece, ModelError):
                raise piece
            yield piece

    def _pieces(self, request: ModelRequest, reply: ModelReply) -> Sequence[Piece | ModelError]:
        if isinstance(reply, ModelError):
            return [reply]
        if isinstance(reply, str):
            return self._text(request, reply)
        return self._text(request, reply(request)) if callable(reply) else reply

    def _text(self, request: ModelRequest, text: str) -> list[Piece]:
        size = self._piece_chars
        asked = sum(len(message.text) for message in request.messages)
        usage = Usage(1, asked // _CHARS_PER_TOKEN, len(text) // _CHARS_PER_TOKEN)
        texts = [Text(text[at : at + size]) for at in range(0, len(text), size)]
        return [*texts, Ended(self._name, usage)]


OPEN: Final[Json] = {"type": "object"}
"""An input schema that accepts any object."""


class _Timed(Struct, frozen=True, kw_only=True):
    """An outcome that comes after `delay_s` seconds, and not before `until` is set."""

    delay_s: float = 0.0
    until: asyncio.Event | None = None


class Gives(_Timed, frozen=True):
    """The call returns `value`, after `delay_s` seconds, and not before `until` is set."""

    value: Json


class Raises(_Timed, frozen=True):
    """The call raises `error`, after `delay_s` seconds, and not before `until` is set."""

    error: BaseException


class Computes(_Timed, frozen=True):
    """The call returns `function(arguments)`, which may raise or return no JSON."""

    function: Callable[[Arguments], Any]


class Hangs(Struct, frozen=True):
    """The call never ends by itself.

    With `ignores_cancellation` it ignores cancellation, and returns null when `until` is set.
    """

    ignores_cancellation: bool = False
    until: asyncio.Event | None = None


Outcome: TypeAlias = Gives | Raises | Computes | Hangs


class ScriptedCall(NamedTuple):
    """A call: the tool's name, and a copy of its arguments."""

    tool: str
    args: Arguments


class ScriptedTools:
    """Fake tools with one log of their calls.

    >>> tools = ScriptedTools()
    >>> _ = tools.add("weather", Gives({"sun": True}))
    >>> tools.toolbox
    Toolbox(weather)

    Attributes:
        calls: all calls, in the order in which they started.
        running: the number of calls that run now.
        most_running: the maximum number of calls that ran at the same time.
        cancelled: the tool of each call that was cancelled.
    """

    def __init__(self) -> None:
        self.calls: list[ScriptedCall] = []
        self.running = 0
        self.most_running = 0
        self.cancelled: list[str] = []
        self._tools: dict[str, Tool] = {}
        self._changed = asyncio.Event()

    @property
    def toolbox(self) -> Toolbox:
        """The tools."""
        return Toolbox(self._tools.values())

    def add(
        self,
        name: str,
        *outcomes: Outcome,
        input_schema: Json = OPEN,
        output_schema: Json = None,
        effects: Effects = Effects.READ,
        idempotent: bool = False,
        annotations: Mapping[str, Json] | None = None,
    ) -> Tool:
        """Add the tool `name`; each call has the next of `outcomes`, and then the last one again.

        Without outcomes the tool returns its arguments.
        """
        script = list(outcomes) or [Computes(lambda args: args)]
        made = 0

        async def call(args: Arguments) -> Json:
            nonlocal made
            outcome = script[min(made, len(script) - 1)]
            made += 1
            return await self._call(name, args, outcome)

        tool = Tool(
            name=name,
            description=f"A scripted tool named {name}.",
            raw_input=input_schema,
            raw_output=output_schema,
            effects=effects,
            idempotent=idempotent,
            annotations=annotations or {},
            call=call,
        )
        self._tools[name] = tool
        return tool

    def args_of(self, name: str) -> list[Arguments]:
        """Return the arguments of all calls of the tool `name`, in order."""
        return [call.args for call in self.calls if call.tool == name]

    async def started(self, name: str, times: int = 1) -> None:
        """Wait until the tool `name` was called `times` times."""
        while len(self.args_of(name)) < times:
            self._changed.clear()
            await self._changed.wait()

    async def idle(self) -> None:
        """Wait until no call runs."""
        while self.running:
            self._changed.clear()
            await self._changed.wait()

    async def _call(self, name: str, args: Arguments, outcome: Outcome) -> Json:
        self.calls.append(ScriptedCall(name, deepcopy(args)))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self._changed.set()
        try:
            return await _perform(outcome, args)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        finally:
            self.running -= 1
            self._changed.set()


async def _perform(outcome: Outcome, args: Arguments) -> Json:
    if isinstance(outcome, Hangs):
        until = outcome.until or asyncio.Event()
        while not until.is_set():
            try:
                await until.wait()
            except asyncio.CancelledError:
                if not outcome.ignores_cancellation:
                    raise
        return None
    if outcome.delay_s:
        await asyncio.sleep(outcome.delay_s)
    if outcome.until is not None:
        await outcome.until.wait()
    match outcome:
        case Gives(value=value):
            return deepcopy(value)
        case Raises(error=error):
            raise error
        case Computes(function=function):
            return function(args)


E = TypeVar("E", bound=Event)


class RecordingSink:
    """Keeps all events: `run(plan, tools, on_event=sink)`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep `event`."""
        self.events.append(event)

    @property
    def run(self) -> Run:
        """The run of the events so far."""
        return fold(self.events)

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind, in order: `sink.of(StepStarted)`."""
        return [event for event in self.events if isinstance(event, kind)]


def scripted_extract(read: Callable[[str, str], Json]) -> Tool:
    """Return the tool `extract` whose model is `read`: of the text and the instruction, the value.

    It is checked against the schema like the reply of any model. None stands for a value that
    the text does not have.
    """

    def reply(request: ModelRequest) -> str:
        asked = json.loads(request.messages[1].text)
        value = read(asked["text"], asked["instruction"])
        return json.dumps({"found": value is not None, "value": value})

    model = ScriptedModel([reply], name="scripted:extract")
    return extract_tool(lambda: model)


class Asked(NamedTuple):
    """One question to a planner, with the earlier drafts and their results."""

    question: Question
    tools: Toolbox
    attempts: tuple[Attempt, ...]


class ScriptedPlanner:
    """Returns `proposals` one after the other, and from then on always the last one.

    A text is a draft in the dialect `toolplan`. `asked` holds all questions.
    """

    def __init__(self, *proposals: Proposal | str) -> None:
        """Prepare the proposals.

        Raises:
            ValueError: there is none.
        """
        if not proposals:
            raise ValueError("A scripted planner needs at least one proposal.")
        self._proposals = [Draft(each) if isinstance(each, str) else each for each in proposals]
        self.asked: list[Asked] = []

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the next proposal."""
        at = min(len(self.asked), len(self._proposals) - 1)
        self.asked.append(Asked(question, tools, tuple(attempts)))
        return self._proposals[at]
