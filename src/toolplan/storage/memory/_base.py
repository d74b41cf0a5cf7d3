"""What is remembered, and who remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toolplan.path import Json


@dataclass(frozen=True, slots=True)
class Episode:
    """One turn of a conversation.

    Attributes:
        query: what was asked, in the words of the user.
        timestamp: when, in ISO 8601.
        plan: the plan that came of it, in canonical JSON; None where there was none.
        entities: what was spoken of, as in `location:Berlin`.
        text: more words by which the turn may be found again, such as those of the answer.
        pending: what was asked back, so that the next turn may answer it; None where nothing was.
            Its form is that of whoever asks back (`toolplan.planners.grounded.dialogue`).
    """

    query: str
    timestamp: str
    plan: Json = None
    entities: tuple[str, ...] = ()
    text: str = ""
    pending: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the episode as a question's context has it."""
        return {"query": self.query, "timestamp": self.timestamp, "plan": self.plan}


class Recollection(NamedTuple):
    """Words that were said before, and how much of a query is in them: 0 (nothing) to 1 (all)."""

    text: str
    score: float


class Memory(Protocol):
    """Keeps what was said, by session.

    All methods block for as long as a disk takes; a server calls them in a thread. Each raises
    `MemoryFault` where memory cannot be used.
    """

    def semantic(self, query: str, session: str, limit: int = 3) -> tuple[Recollection, ...]:
        """Return what was said in `session` that is most like `query`, the likest first."""
        ...

    def episodic(
        self, session: str, limit: int = 5, entities: tuple[str, ...] = ()
    ) -> tuple[Episode, ...]:
        """Return the turns of `session`, the latest first.

        With `entities`, only those turns that spoke of at least one of them.
        """
        ...

    def entities(self, session: str) -> tuple[str, ...]:
        """Return all that was spoken of in `session`, each once, the latest first."""
        ...

    def remember(self, session: str, episode: Episode) -> None:
        """Keep `episode` as the latest turn of `session`."""
        ...

    def recall(self, session: str, query: str) -> Json:
        """Return the context for the question `query`, in the form of `Question.context`.

        That is `{"semantic": [{"text", "score"}], "episodic": [{"query", "timestamp", "plan"}],
        "entities": [...]}`, and `"pending"` where the latest turn asked something back.
        """
        ...

    def forget(self, session: str) -> None:
        """Drop all of `session`; nothing of it can be read from the disk afterwards."""
        ...
