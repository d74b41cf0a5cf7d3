"""A plan that is still being written when its run begins, with places to be killed at."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

from toolplan import ExecutionPlan, Step

NEXT: Final = "stream: the next step is to come"
GIVEN: Final = "stream: a step was taken"
WHOLE: Final = "stream: all is written, nobody has looked at it"
LABELS: Final = (NEXT, GIVEN, WHOLE)


class _Whole(NamedTuple):
    plan: ExecutionPlan | None


class PlanStream:
    """The first steps of `plan`, each after a while, and then all of it.

    `hit` is called with the label of each place that the stream comes to.
    """

    def __init__(
        self, plan: ExecutionPlan, chance: random.Random, hit: Callable[[str], None]
    ) -> None:
        steps = plan.plan.steps
        # some steps are known only when the plan is whole
        eager = len(steps) if chance.random() < 0.7 else chance.randrange(len(steps))
        self.compiled = _Whole(plan)
        self._eager = steps[:eager]
        self._pause_s = chance.choice((0.0, 0.002, 0.01))
        self._hit = hit

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is written."""
        for step in self._eager:
            self._hit(NEXT)
            await asyncio.sleep(self._pause_s)
            yield step
            self._hit(GIVEN)
        await asyncio.sleep(self._pause_s)
        self._hit(WHOLE)
