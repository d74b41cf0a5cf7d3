"""A planner with scripted proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolplan.planners._base import Attempt, Draft, OnText, Proposal, Question
from toolplan.tools import Toolbox


class Asked(NamedTuple):
    """One question to a planner, with the earlier drafts and their results."""

    question: Question
    tools: Toolbox
    attempts: tuple[Attempt, ...]


class ScriptedPlanner:
    """Returns `proposals` one after the other, and then the last one again.

    A text is a draft in the dialect `toolplan`. `asked` holds all questions.
    """

    def __init__(self, *proposals: Proposal | str) -> None:
        """Prepare the proposals.

        Raises:
            ValueError: there is none.
        """
        if not proposals:
            raise ValueError("A scripted planner needs at least one proposal.")
        self._proposals = [Draft(each) if isinstance(each, str) else each for each in proposals]
        self.asked: list[Asked] = []

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the next proposal."""
        at = min(len(self.asked), len(self._proposals) - 1)
        self.asked.append(Asked(question, tools, tuple(attempts)))
        return self._proposals[at]
