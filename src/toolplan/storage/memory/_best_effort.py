"""Memory that is never the reason why there is no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolplan.path import Json
from toolplan.storage.memory._base import Episode, Memory, Recollection
from toolplan.storage.memory._database import MemoryFault

T = TypeVar("T")


def _unheard(fault: MemoryFault) -> None:
    """Tell nobody."""


class BestEffortMemory:
    """Another memory, which is as if it were empty whenever it cannot be used.

    Every fault goes to `report`, once for each call, so that whoever asks can be told that what was
    said before is not known; nothing is raised.
    """

    def __init__(self, memory: Memory, report: Callable[[MemoryFault], None] = _unheard) -> None:
        """Hold `memory`."""
        self._memory = memory
        self._report = report

    def semantic(self, query: str, session: str, limit: int = 3) -> tuple[Recollection, ...]:
        """Return what is most like `query`; nothing where memory fails."""
        return self._try(lambda: self._memory.semantic(query, session, limit), ())

    def episodic(
        self, session: str, limit: int = 5, entities: tuple[str, ...] = ()
    ) -> tuple[Episode, ...]:
        """Return the latest turns; none where memory fails."""
        return self._try(lambda: self._memory.episodic(session, limit, entities), ())

    def entities(self, session: str) -> tuple[str, ...]:
        """Return what was spoken of; nothing where memory fails."""
        return self._try(lambda: self._memory.entities(session), ())

    def remember(self, session: str, episode: Episode) -> None:
        """Keep `episode`, if memory can."""
        self._try(lambda: self._memory.remember(session, episode), None)

    def recall(self, session: str, query: str) -> Json:
        """Return the context for `query`; None where memory fails, as if nothing had been said."""
        return self._try(lambda: self._memory.recall(session, query), None)

    def forget(self, session: str) -> None:
        """Drop all of `session`.

        Raises:
            MemoryFault: it could not be dropped. Somebody wanted it gone, and must hear of it.
        """
        self._memory.forget(session)

    def _try(self, attempt: Callable[[], T], otherwise: T) -> T:
        try:
            return attempt()
        except MemoryFault as fault:
            self._report(fault)
            return otherwise
