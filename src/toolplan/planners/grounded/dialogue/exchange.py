"""A follow-up and what it follows: the message, the turn before it, and what can come of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from toolplan.plan import Plan
from toolplan.plan_json import load
from toolplan.planners._base import Draft, Planner, Question
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dialogue.reading import Words
from toolplan.planners.grounded.dialogue.turns import Turn
from toolplan.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message, the turn that it follows, and who plans what is new in it."""

    question: Question
    turn: Turn
    tools: Toolbox
    words: Words
    planner: Planner

    async def ask(self, text: str) -> Plan | None:
        """Return the planner's plan for the question `text`, None where it has none."""
        draft = await self._draft(text)
        return None if draft is None else plan_of(draft)

    async def ask_whole(self, text: str) -> Revised | None:
        """Return the planner's plan for `text`, which stands alone; None where it has none."""
        draft = await self._draft(text)
        plan = None if draft is None else plan_of(draft)
        return None if plan is None else Revised(plan, text, source=draft)

    async def _draft(self, text: str) -> Draft | None:
        question = Question(text, self.question.today)
        proposal = await self.planner.propose(question, self.tools, ())
        return proposal if isinstance(proposal, Draft) else None

    @property
    def message(self) -> str:
        """What was said."""
        return self.question.text

    @property
    def catalogue(self) -> Catalogue:
        """What the tools are about."""
        return self.words.catalogue


@dataclass(frozen=True, slots=True)
class Revised:
    """The plan that a follow-up makes of the one before.

    Attributes:
        plan: the plan.
        whole: the question that it answers, said so that it stands alone; None where it is not
            known how to say it.
        said: by id of a step and name of its argument, the words that the argument comes from.
        notes: what the reader should know of how the message was understood.
        source: the draft of the planner that made all of the plan, where one did.
    """

    plan: Plan
    whole: str | None
    said: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    notes: tuple[str, ...] = ()
    source: Draft | None = None


@dataclass(frozen=True, slots=True)
class Unsure:
    """It cannot be told what the message means: what to ask, and what it could be.

    `plan` is what a yes proposes, where the question is whether it was meant.
    """

    question: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    plan: Plan | None = None


Revision: TypeAlias = Revised | Unsure


def plan_of(draft: Draft) -> Plan | None:
    """Return the plan of a draft in canonical JSON; None where it is none, or another dialect."""
    try:
        parsed = load(json.loads(draft.text)) if draft.dialect == "toolplan" else None
    except ValueError:
        return None
    if parsed is None or any(each.blocks for each in parsed.diagnostics):
        return None
    return parsed.plan
