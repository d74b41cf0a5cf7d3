"""A process that works on the run, and what may happen to it."""

import asyncio
import random
from collections.abc import Callable
from typing import NamedTuple

from tests.simulation.loop import Death, VirtualLoop
from tests.simulation.store import SimulatedJournal
from tests.simulation.streams import PlanStream
from tests.simulation.world import Breach
from toolplan.events import Run
from toolplan.schema.tool_call import ToolCall


class Process(NamedTuple):
    """One that works on the run; `stream` is where it has the plan from while that is written."""

    loop: VirtualLoop
    journal: SimulatedJournal
    clock: Callable[[], float]
    stream: PlanStream | None

    def audit_effect(self, call: ToolCall) -> None:
        """See, when an effect is about to happen, that it may, and that it is on disk that it will.

        Raises:
            Breach: it may not, or it is not.
        """
        if self.stream is not None:
            self.stream.audit_effect(call)
        mark = f'"{call.step}",{"null" if call.item is None else call.item},{call.attempt},'
        if not any(mark in text and "call-intended" in text for text in self.journal.synced):
            raise Breach(f"{call} has effects and was begun before its intent was on disk.")
        if self.journal.token_of("r") != self.journal.token:
            raise Breach(f"{call} has effects and was begun after another took the run over.")
        if not self.journal.has_approval:
            raise Breach(f"{call} has effects and was begun before its approval was on disk.")


class Sleeping(NamedTuple):
    """A process that stands still; `token` is that of its lease, None where it has none.

    `begins` says that it was about to begin the run, not to resume it.
    """

    process: Process
    task: asyncio.Task[Run]
    token: tuple[str, int] | None
    begins: bool

    @property
    def is_too_late(self) -> bool:
        """Whether another has taken the run over, or has begun it meanwhile."""
        token = self.process.journal.token_of("r")
        if self.token is None:
            return self.begins and token is not None
        return token != self.token


def moment(chance: random.Random) -> float:
    """Return the seconds until something happens to a process."""
    return chance.random() ** 3 * chance.choice((0.02, 0.5, 20.0))


def die() -> None:
    """End the process.

    Raises:
        Death: always.
    """
    raise Death
