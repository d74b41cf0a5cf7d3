"""Plans that are still being written when their run begins: by seed, how soon, and how it ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec.structs import replace

from tests.simulation.world import Breach
from toolplan import CannotRun, ExecutionPlan, StreamRefused
from toolplan.events import CallIntended, Event, PlanSettled, RunApproved, RunState, StepArrived
from toolplan.plan.model import Literal, Step
from toolplan.plan.path import Json
from toolplan.schema.tool_call import ToolCall

STRAY: Final = "stray"
"""The id of a step that some streams give and that is not in the plan."""


class Ending(StrEnum):
    """What a stream comes to."""

    WHOLE = "the plan is whole, and what its steps said"
    BROKEN = "the stream raises"
    WRONG = "the plan does not pass the check"
    CHANGED = "a given step is another one in the plan"
    DROPPED = "a given step is not in the plan"
    UNKNOWN = "a given step calls a tool that nobody has"


class Broken(Exception):
    """Whoever writes the plan is gone."""


class Whole(NamedTuple):
    """What came of all that was written."""

    plan: ExecutionPlan | None


_REFUSED_WITH: Final[dict[Ending, type[Exception]]] = {
    Ending.BROKEN: Broken,
    Ending.WRONG: StreamRefused,
    Ending.CHANGED: StreamRefused,
    Ending.DROPPED: StreamRefused,
    Ending.UNKNOWN: CannotRun,
}
REFUSALS: Final = tuple({*_REFUSED_WITH.values()})
"""What a run of a stream raises that came to anything but a plan."""


class PlanStream:
    """The steps of `plan`, each at some moment; `calm` streams give it whole in the end.

    `on_trouble` is called before a stream ends that cannot be run.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        chance: random.Random,
        *,
        calm: bool,
        on_trouble: Callable[[], None],
    ) -> None:
        self.ending = Ending.WHOLE if calm else _ending(chance)
        self.is_whole = False
        """Whether the plan was there, and right: nothing with effects may happen before it."""
        self.is_judged_unread = chance.random() < 0.3
        """Whether the plan is approved, or refused, before it is written."""
        self.thinks_s = 40.0 if chance.random() < 0.1 else 0.0
        """How long the approver thinks; sometimes longer than a lease lasts."""
        self._plan = plan
        self._chance = chance
        self._on_trouble = on_trouble
        self._left = _given(plan.plan.steps, chance, self.ending)
        self._left.reverse()
        self._pace_s = chance.choice((0.0, 0.002, 0.05, 1.0))
        self._ends_at = chance.randrange(len(self._left) + 1)
        """So many steps are left when a stream breaks off."""
        self._silent_at = chance.randrange(len(self._left) + 1) if chance.random() < 0.2 else None
        self._over = False

    def __aiter__(self) -> PlanStream:
        return self

    async def __anext__(self) -> Step:
        """Return the next step, when it is written."""
        if self._pace_s:  # without a pace all that is written is there at once
            await asyncio.sleep(self._pace_s * self._chance.random())
        if len(self._left) == self._silent_at:
            await asyncio.sleep(self._chance.choice((2.0, 25.0, 90.0)))
        if self.ending is Ending.BROKEN and len(self._left) == self._ends_at:
            self._on_trouble()
            raise Broken
        if not self._left:
            self._end()
            raise StopAsyncIteration
        step = self._left.pop()
        if step.id == STRAY and self.ending is Ending.UNKNOWN:
            self._on_trouble()
        return step

    @property
    def compiled(self) -> Whole:
        """What came of it; nobody may ask before the steps are at their end."""
        if not self._over:
            raise Breach("Somebody asked for the plan before it was written.")
        return Whole(None if self.ending is Ending.WRONG else self._plan)

    def _end(self) -> None:
        self._over = True
        self.is_whole = self.ending is Ending.WHOLE
        if not self.is_whole:
            self._on_trouble()

    def audit_effect(self, call: ToolCall) -> None:
        """See, when an effect is about to happen, that the plan is whole.

        Raises:
            Breach: it is not.
        """
        if not self.is_whole:
            raise Breach(f"{call} has effects and was begun before the plan was whole.")

    def audit_success(self) -> None:
        """See that what was run is what was written.

        Raises:
            Breach: it cannot be.
        """
        if not self.is_whole:
            raise Breach(f"A plan was run although {self.ending.value}.")

    def audit_refusal(self, error: Exception) -> None:
        """See that the stream was refused for what is wrong with it, and that nothing is open.

        Raises:
            Breach: it was not so.
        """
        if type(error) is not _REFUSED_WITH.get(self.ending):
            raise Breach(f"{self.ending.value}, and the run raised {error!r}.") from error
        if not isinstance(error, StreamRefused):
            return
        if error.run.status is not RunState.CANCELLED:
            raise Breach(f"A run was refused and is {error.run.status}.")
        if open_ := [name for name, step in error.run.steps.items() if step.ended_at is None]:
            raise Breach(f"A run was refused and these steps are open: {open_}.")


def audit_arrival(plan: ExecutionPlan, events: Sequence[Event]) -> None:
    """See that a run that was streamed and accepted says so: its plan whole, then its effects.

    Raises:
        Breach: it does not.
    """
    steps = tuple(step.id for step in plan.plan.steps)
    arrived = [event.step for event in events if isinstance(event, StepArrived)]
    if len({*arrived}) != len(arrived) or not {*arrived} <= {*steps}:
        raise Breach(f"These steps arrived: {arrived}.")
    settled = [at for at, event in enumerate(events) if isinstance(event, PlanSettled)]
    if len(settled) != 1:
        raise Breach(f"The plan was settled {len(settled)} times.")
    event = events[settled[0]]
    if isinstance(event, PlanSettled) and (event.digest, event.steps) != (plan.digest, steps):
        raise Breach(f"Another plan was settled: {event}.")
    forbidden = [
        each for each in events[: settled[0]] if isinstance(each, CallIntended | RunApproved)
    ]
    if forbidden:
        raise Breach(f"{forbidden[0]} came before the plan was whole.")


def _ending(chance: random.Random) -> Ending:
    return Ending.WHOLE if chance.random() < 0.6 else chance.choice([*_REFUSED_WITH])


def _given(steps: Sequence[Step], chance: random.Random, ending: Ending) -> list[Step]:
    """Return the steps that come before the plan is whole, in the order in which they come."""
    given = list(steps)
    match chance.randrange(6):
        case 0:  # such as dialects that yield nothing before the end
            given = []
        case 1 | 2:  # something was not clear, and all behind it waits for the end
            given = given[: chance.randrange(len(given) + 1)]
        case 3:
            given = chance.sample(given, chance.randrange(len(given) + 1))
        case _:
            pass
    match ending:
        case Ending.CHANGED:
            given = given or [chance.choice(steps)]
            at = chance.randrange(len(given))
            other: Json = chance.random()
            given[at] = replace(given[at], args={**given[at].args, "other": Literal(other)})
        case Ending.DROPPED:
            given.insert(chance.randrange(len(given) + 1), Step(STRAY, chance.choice(_TOOLS)))
        case Ending.UNKNOWN:
            given.insert(chance.randrange(len(given) + 1), Step(STRAY, "nobody"))
        case _:
            pass
    return given


_TOOLS: Final = ("read", "rows", "write", "erase", "put")
