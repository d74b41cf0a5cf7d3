"""Memory that does not fail: without its memory it is empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolplan.path import Json
from toolplan.storage.memory._base import Episode, Memory, Recollection
from toolplan.storage.memory._database import MemoryFault

T = TypeVar("T")


def _ignore(fault: MemoryFault) -> None:
    """Ignore `fault`."""


class BestEffortMemory:
    """Another memory, which is empty whenever it fails.

    Each fault goes to `report`; nothing is raised.
    """

    def __init__(self, memory: Memory, report: Callable[[MemoryFault], None] = _ignore) -> None:
        """Wrap `memory`."""
        self._memory = memory
        self._report = report

    def semantic(self, query: str, session: str, limit: int = 3) -> tuple[Recollection, ...]:
        """Return the texts most similar to `query`, or nothing."""
        return self._try(lambda: self._memory.semantic(query, session, limit), ())

    def episodic(
        self, session: str, limit: int = 5, entities: tuple[str, ...] = ()
    ) -> tuple[Episode, ...]:
        """Return the latest turns, or nothing."""
        return self._try(lambda: self._memory.episodic(session, limit, entities), ())

    def entities(self, session: str) -> tuple[str, ...]:
        """Return the entities, or nothing."""
        return self._try(lambda: self._memory.entities(session), ())

    def remember(self, session: str, episode: Episode) -> None:
        """Add `episode`, if memory works."""
        self._try(lambda: self._memory.remember(session, episode), None)

    def recall(self, session: str, query: str) -> Json:
        """Return the context for `query`, or None."""
        return self._try(lambda: self._memory.recall(session, query), None)

    def forget(self, session: str) -> None:
        """Delete `session`.

        Raises:
            MemoryFault: it could not be deleted.
        """
        self._memory.forget(session)

    def _try(self, attempt: Callable[[], T], otherwise: T) -> T:
        try:
            return attempt()
        except MemoryFault as fault:
            self._report(fault)
            return otherwise
