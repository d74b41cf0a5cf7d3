"""One call of a planner for all who ask the same question at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from toolplan.planners._base import DraftText, OnText, Proposal


class _InFlight(Struct, eq=False):
    """A call in flight, the text that it has streamed so far, and the callers that wait for it."""

    task: asyncio.Task[Proposal] | None = None
    pieces: list[DraftText] = field(default_factory=list[DraftText])
    waiting: list[OnText | None] = field(default_factory=list["OnText | None"])

    def add(self, piece: DraftText) -> None:
        """Pass a piece of the draft to every caller."""
        if piece.starts:
            self.pieces.clear()
        self.pieces.append(piece)
        for on_text in self.waiting:
            if on_text is not None:
                on_text(piece)


class InFlightCalls:
    """Calls in flight, by key, in one event loop.

    All callers get the result or the exception of the call. A late caller gets the text from its
    beginning. The call is cancelled when every caller is cancelled.
    """

    def __init__(self) -> None:
        """Begin with no call in flight."""
        self._calls: dict[tuple[str, int], _InFlight] = {}

    async def join(
        self, key: str, call: Callable[[OnText], Awaitable[Proposal]], on_text: OnText | None
    ) -> Proposal:
        """Return the result of the call in flight for `key`; start it if there is none."""
        loop = asyncio.get_running_loop()
        place = (key, id(loop))
        current = self._calls.get(place)
        task = None if current is None else current.task
        # a new loop may have the id of one that is gone
        if current is None or task is None or task.done() or task.get_loop() is not loop:
            current = self._calls[place] = _InFlight()
            task = current.task = loop.create_task(_awaited(call, current.add))
        if on_text is not None:
            for piece in current.pieces:
                on_text(piece)
        current.waiting.append(on_text)
        try:
            return await asyncio.shield(task)
        finally:
            current.waiting.remove(on_text)
            if not current.waiting:
                task.cancel()
                if self._calls.get(place) is current:
                    del self._calls[place]


async def _awaited(call: Callable[[OnText], Awaitable[Proposal]], on_text: OnText) -> Proposal:
    return await call(on_text)
