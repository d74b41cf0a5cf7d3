"""A follow-up, the turn before it, and the possible results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from toolplan.plan import Plan
from toolplan.plan_json import load
from toolplan.planners._base import Draft, Planner, Question
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dialogue.reading import Words
from toolplan.planners.grounded.dialogue.turns import Turn
from toolplan.tools import Toolbox


class Exchange(Struct, frozen=True):
    """A message, the turn before it, and the planner for its new parts."""

    question: Question
    turn: Turn
    tools: Toolbox
    words: Words
    planner: Planner

    async def ask(self, text: str) -> Plan | None:
        """Return the planner's plan for `text`, or None."""
        draft = await self._draft(text)
        return None if draft is None else plan_of(draft)

    async def ask_whole(self, text: str) -> Revised | None:
        """Return the planner's plan for the whole question `text`, or None."""
        draft = await self._draft(text)
        plan = None if draft is None else plan_of(draft)
        return None if plan is None else Revised(plan, text, source=draft)

    async def _draft(self, text: str) -> Draft | None:
        question = Question(text, self.question.today)
        proposal = await self.planner.propose(question, self.tools, ())
        return proposal if isinstance(proposal, Draft) else None

    @property
    def message(self) -> str:
        """The text of the message."""
        return self.question.text

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue of the tools."""
        return self.words.catalogue


class Revised(Struct, frozen=True):
    """The plan that a follow-up makes of the previous one.

    Attributes:
        plan: the plan.
        whole: the whole question that it answers, or None where it is not known.
        said: the words of each argument, by the step's id and the argument's name.
        notes: how the message was understood, for the reader.
        source: the draft, where a planner made the whole plan.
    """

    plan: Plan
    whole: str | None
    said: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    notes: tuple[str, ...] = ()
    source: Draft | None = None


class Unsure(Struct, frozen=True):
    """A question back about an ambiguous message; `plan` is what a *yes* proposes."""

    question: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    plan: Plan | None = None


Revision: TypeAlias = Revised | Unsure


def plan_of(draft: Draft) -> Plan | None:
    """Return the plan of a draft in canonical JSON, or None."""
    try:
        parsed = load(json.loads(draft.text)) if draft.dialect == "toolplan" else None
    except ValueError:
        return None
    if parsed is None or any(each.blocks for each in parsed.diagnostics):
        return None
    return parsed.plan
