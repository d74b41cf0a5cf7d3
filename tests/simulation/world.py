"""Tools that do all that tools do, by seed, and the truth about every call."""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Final, NamedTuple

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Effects, OutcomeUnknown, Tool, Toolbox, ToolError
from toolplan.schema.tool_call import ToolCall, current_call

_SLACK_S: Final = 0.01
KINDS: Final = (
    ("read", Effects.READ, False),
    ("rows", Effects.READ, False),
    ("write", Effects.WRITE, False),
    ("erase", Effects.DESTRUCTIVE, False),
    ("put", Effects.WRITE, True),
)


class Breach(AssertionError):
    """Something that must never happen has happened."""


class Made(NamedTuple):
    """A call that was made, by the process `life`; -1 is one that had been taken over."""

    life: int
    tool: str
    call: ToolCall


class Body(BaseException):
    """What no tool should raise, and some do."""


class _OwnCancellation(asyncio.CancelledError):
    """A tool cancels itself; nobody has asked it to."""


class World:
    """What tools act on. `nasty` tools fail, hang, answer late and give garbage."""

    def __init__(self, chance: random.Random, *, nasty: bool) -> None:
        self.made: list[Made] = []
        self.breaches: list[str] = []
        """What tools saw that must not be; an engine takes what they raise for their failure."""
        self.life = 0
        self.zombie = False
        """Whether a process is at work whose run another has taken over."""
        self.has_slept = False
        """Whether the process stood still, so that no time is what it should be."""
        self.limits: dict[str, int] = {}
        self.timeouts: dict[str, float] = {}
        self.may_end_calls = False
        """Whether calls may be cut short now: the run is being cancelled, or has failed."""
        self.on_effect: Callable[[ToolCall], None] = _nothing
        """Called with every call that has effects, before it has them."""
        self._chance = chance
        self._nasty = nasty
        self._open: dict[ToolCall, tuple[str, float]] = {}

    def tools(self) -> Toolbox:
        """Return the tools."""
        return Toolbox(
            Tool(
                name=name,
                description=f"Does what {name} does.",
                raw_input={"type": "object"},
                raw_output={"type": "object"} if name == "rows" else None,
                effects=effects,
                idempotent=idempotent,
                call=self._call(name, effects),
            )
            for name, effects, idempotent in KINDS
        )

    def begin_life(self) -> None:
        """Let a new process begin: what the one before did at last is no matter any more."""
        self.life += 1
        self._open.clear()
        self.may_end_calls = self.has_slept = False

    def _call(self, name: str, effects: Effects) -> Call:
        async def call(args: Arguments) -> Json:
            made = current_call()
            assert made is not None
            try:
                return await attended(made, args)
            except Breach as breach:
                self.breaches.append(str(breach))
                raise

        async def attended(made: ToolCall, args: Arguments) -> Json:
            life = -1 if self.zombie else self.life
            loop = asyncio.get_running_loop()
            begun = loop.time()
            self._begin(name, effects, made, begun)
            try:
                return await self._do(name, args)
            except _OwnCancellation:
                raise
            except asyncio.CancelledError:
                if life == self.life:
                    self._audit_time(made, loop.time() - begun)
                raise
            finally:
                self._open.pop(made, None)

        return call

    def _begin(self, name: str, effects: Effects, made: ToolCall, now: float) -> None:
        if effects is not Effects.READ:
            self.on_effect(made)
        self.made.append(Made(-1 if self.zombie else self.life, name, made))
        if self.zombie or self.has_slept or self.may_end_calls:
            return  # calls that were given up may still be at work
        self._open[made] = name, now
        # one whose time is over is given up, and may be at work all the same
        names = [
            each
            for call, (each, begun) in self._open.items()
            if now - begun < self.timeouts[call.step] - _SLACK_S
        ]
        if len(names) > self.limits[""] or names.count("read") > self.limits["read"]:
            raise Breach(f"Too many calls at once: {', '.join(names)}.")

    def _audit_time(self, made: ToolCall, took: float) -> None:
        if self.has_slept:
            return
        timeout = self.timeouts[made.step]
        if took > timeout + _SLACK_S:
            raise Breach(f"{made.step} was given up {took - timeout:.3f} s too late.")
        if took < timeout - _SLACK_S and not self.may_end_calls:
            raise Breach(f"{made.step} was given up after {took:.3f} s of {timeout} s.")

    async def _do(self, name: str, args: Arguments) -> Json:
        chance = self._chance
        await asyncio.sleep(chance.choice((0.0, 0.001, 0.02, 0.3)) * chance.random())
        if self._nasty and chance.random() < 0.35:
            return await self._misbehave(chance.randrange(9))
        return compute(name, args)

    async def _misbehave(self, how: int) -> Json:
        match how:
            case 0:
                raise ToolError("It does not want to.")
            case 1:
                raise Body("no")
            case 2:
                raise OutcomeUnknown("The connection is gone.")
            case 3:
                await asyncio.sleep(1e9)
            case 4 | 5:  # ignores that it is cancelled
                end = asyncio.get_running_loop().time() + self._chance.random() * 40
                while (left := end - asyncio.get_running_loop().time()) > 0:
                    try:
                        await asyncio.sleep(left)
                    except asyncio.CancelledError:
                        if how == 4:
                            raise ToolError("It was interrupted.") from None
            case 6:
                return {"n": math.nan}
            case 7:
                return object()  # pyright: ignore[reportReturnType]
            case _:
                raise _OwnCancellation
        return {"n": -1, "data": []}


def compute(name: str, args: Arguments) -> Json:
    """Return what a tool gives for `args` if it behaves.

    Raises:
        ToolError: for one set of arguments in nine.
    """
    seen = sum(map(ord, repr(sorted(args.items())))) % 997
    if seen % 9 == 0:
        raise ToolError("Not with these arguments.")
    return {"n": seen, "data": [{"id": seen + at} for at in range(seen % 5)], "tool": name}


def _nothing(call: ToolCall) -> None:
    """Let every effect be."""
