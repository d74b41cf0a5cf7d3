"""The protocol of memory, its values, and memory that does not fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from toolplan.path import Json
from toolplan.storage.memory._database import MemoryFault

_T = TypeVar("_T")


class Episode(Struct, frozen=True):
    """One turn of a conversation.

    Attributes:
        query: the question, in the words of the user.
        timestamp: its time, in ISO 8601.
        plan: its plan, in canonical JSON, or None.
        entities: the entities of the turn, as `location:Berlin`.
        text: more words by which the turn is found, such as those of the answer.
        pending: the question asked back, which the next turn may answer, or None; in the form of
            `toolplan.planners.conversation`.
    """

    query: str
    timestamp: str
    plan: Json = None
    entities: tuple[str, ...] = ()
    text: str = ""
    pending: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the episode for the context of a question."""
        return {"query": self.query, "timestamp": self.timestamp, "plan": self.plan}


class Recollection(Struct, frozen=True):
    """Text of an earlier turn, and the share of a query's words in it, 0 to 1."""

    text: str
    score: float


class Memory(Protocol):
    """Keeps turns by session.

    All methods block on the disk, and raise `MemoryFault` if memory cannot be used.
    """

    def semantic(self, query: str, session: str, limit: int = 3) -> tuple[Recollection, ...]:
        """Return the texts of `session` that are most similar to `query`, best first."""
        ...

    def episodic(
        self, session: str, limit: int = 5, entities: tuple[str, ...] = ()
    ) -> tuple[Episode, ...]:
        """Return the turns of `session` with any of `entities` (all if empty), latest first."""
        ...

    def entities(self, session: str) -> tuple[str, ...]:
        """Return the entities of `session`, each once, latest first."""
        ...

    def remember(self, session: str, episode: Episode) -> None:
        """Add `episode` as the latest turn of `session`."""

    def recall(self, session: str, query: str) -> Json:
        """Return the context for the question `query`, in the form of `Question.context`.

        That is `{"semantic": [{"text", "score"}], "episodic": [{"query", "timestamp", "plan"}],
        "entities": [...]}`, and `"pending"` if the latest turn asked back.
        """
        ...

    def forget(self, session: str) -> None:
        """Delete `session`; nothing of it can be read from the disk afterwards."""


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

    def _try(self, attempt: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return attempt()
        except MemoryFault as fault:
            self._report(fault)
            return otherwise
