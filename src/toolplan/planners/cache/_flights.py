"""One call of a planner for all who ask the same question at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from toolplan.planners._base import DraftText, OnText, Proposal


@dataclass(slots=True, eq=False)
class _Flight:
    """A call in flight, the text that it has streamed so far, and who waits for it."""

    task: asyncio.Task[Proposal] | None = None
    pieces: list[DraftText] = field(default_factory=list[DraftText])
    waiting: list[OnText | None] = field(default_factory=list["OnText | None"])

    def add(self, piece: DraftText) -> None:
        """Pass a piece of the draft to all who wait."""
        if piece.starts:
            self.pieces.clear()
        self.pieces.append(piece)
        for on_text in self.waiting:
            if on_text is not None:
                on_text(piece)


class Flights:
    """Calls in flight, by key, in one event loop.

    A caller that is cancelled leaves the call to the others; it is cancelled when nobody waits for
    it. All callers get its result or its exception. A late caller gets the text from its beginning.
    """

    def __init__(self) -> None:
        """Begin with no call in flight."""
        self._flights: dict[tuple[str, int], _Flight] = {}

    async def join(
        self, key: str, call: Callable[[OnText], Awaitable[Proposal]], on_text: OnText | None
    ) -> Proposal:
        """Return the result of the call in flight for `key`; start it if there is none."""
        loop = asyncio.get_running_loop()
        place = (key, id(loop))
        flight = self._flights.get(place)
        task = None if flight is None else flight.task
        # the id of a closed loop may be that of this one
        if flight is None or task is None or task.done() or task.get_loop() is not loop:
            flight = self._flights[place] = _Flight()
            task = flight.task = loop.create_task(_awaited(call, flight.add))
        if on_text is not None:
            for piece in flight.pieces:
                on_text(piece)
        flight.waiting.append(on_text)
        try:
            return await asyncio.shield(task)
        finally:
            flight.waiting.remove(on_text)
            if not flight.waiting:
                task.cancel()
                if self._flights.get(place) is flight:
                    del self._flights[place]


async def _awaited(call: Callable[[OnText], Awaitable[Proposal]], on_text: OnText) -> Proposal:
    return await call(on_text)
