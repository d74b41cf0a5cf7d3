"""What was said before, where the user names a conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Self

from toolplan.cli._home import home
from toolplan.cli._terminal import note
from toolplan.memory import BestEffortMemory, MemoryFault, SqliteMemory
from toolplan.path import Json
from toolplan.planners import Planner
from toolplan.planners.dialogue import DialoguePlanner, episode_of
from toolplan.session import Asked
from toolplan.tools import Toolbox

MEMORY: Final = "memory.sqlite"


class Conversation:
    """A conversation by name; without a name each question stands alone.

    `context` is what was said before, for the planner.
    """

    def __init__(self, name: str | None, question: str, tools: Toolbox) -> None:
        """Recall what was said before `question`."""
        self._name = name
        self._tools = tools
        self._kept: SqliteMemory | None = None
        self._memory: BestEffortMemory | None = None
        self.context: Json = None
        if name is not None:
            self._kept = SqliteMemory(home() / MEMORY)
            self._memory = BestEffortMemory(self._kept, _tell)
            self.context = self._memory.recall(name, question)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._kept is not None:
            self._kept.close()

    def planner(self, inner: Planner) -> Planner:
        """Give the planner that takes up what was said, over `inner`."""
        return inner if self._name is None else DialoguePlanner(inner)

    def remember(self, asked: Asked) -> None:
        """Keep a turn, so that the next question may follow it."""
        if self._memory is None or self._name is None:
            return
        episode = episode_of(
            asked.question,
            asked.proposal,
            self._tools,
            timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
            plan=None if asked.plan is None else asked.plan.plan,
            text="" if asked.answer is None else asked.answer.text,
        )
        self._memory.remember(self._name, episode)


def _tell(fault: MemoryFault) -> None:
    note(f"What was said before is not known: {fault}")
