"""One call for all who ask the same at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_Given = TypeVar("_Given")


@dataclass(slots=True)
class _Flight(Generic[_Given]):
    task: asyncio.Task[_Given]
    waiting: int = 0


class Flights(Generic[_Given]):
    """Calls under way, by key, in one event loop.

    The call belongs to all who wait for it: one who is cancelled leaves it to the others, and only
    when the last one has left is it cancelled too. What it raises, all of them get.
    """

    def __init__(self) -> None:
        """Begin with no call under way."""
        self._flights: dict[tuple[str, int], _Flight[_Given]] = {}

    async def join(self, key: str, call: Callable[[], Awaitable[_Given]]) -> _Given:
        """Return what the call under way for `key` gives; make it where there is none."""
        loop = asyncio.get_running_loop()
        place = (key, id(loop))
        flight = self._flights.get(place)
        # a loop that is gone may have left its number to this one
        if flight is None or flight.task.done() or flight.task.get_loop() is not loop:
            flight = _Flight(loop.create_task(_awaited(call)))
            self._flights[place] = flight
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flight.task.cancel()
                if self._flights.get(place) is flight:
                    del self._flights[place]


async def _awaited(call: Callable[[], Awaitable[_Given]]) -> _Given:
    return await call()
