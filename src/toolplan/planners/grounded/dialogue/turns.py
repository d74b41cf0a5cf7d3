"""The turns before a question: how they are read from its context, and stored in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import dump, load
from toolplan.planners._base import Clarification, Draft, Proposal, Question
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.catalogue.schemas import as_node, text, texts
from toolplan.planners.grounded.dialogue.entities import read_entities
from toolplan.storage.memory import Episode
from toolplan.tools import Toolbox

FOLLOW_UP_OF: Final = "follow_up_of"
"""The field of the metadata of a follow-up's plan:
`{"query": the message of the previous turn, "read_as": the whole question, or null}`
"""
YES: Final = "yes"
NO: Final = "no"


class Turn(Struct, frozen=True):
    """A turn with a plan: its message, and the whole question where it is known."""

    query: str
    plan: Plan
    whole: str | None


class Pending(Struct, frozen=True):
    """A clarification without an answer yet: the part `pending` of a question's context.

    Attributes:
        question: what the user said.
        asked: the clarification.
        options: the offered answers. Each replaces a word that was not understood; without such a
            word, each is a message of its own.
        unexplained: the words that were not understood.
        plan: the plan in canonical JSON that a *yes* proposes, where the options are yes and no;
            else what was understood, or None.
    """

    question: str
    asked: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    plan: Json = None

    @property
    def awaits_approval(self) -> bool:
        """Whether a yes proposes `plan`."""
        return self.options == (YES, NO) and self.plan is not None

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form."""
        return {
            "question": self.question,
            "asked": self.asked,
            "options": [*self.options],
            "unexplained": [*self.unexplained],
            "plan": self.plan,
        }


class Conversation(Struct, frozen=True):
    """The last turn with a plan, the open clarification, and the latest questions."""

    last: Turn | None = None
    pending: Pending | None = None
    asked: tuple[str, ...] = ()


def read_conversation(recalled: Json) -> Conversation:
    """Read a question's context; invalid parts are ignored."""
    node = as_node(recalled)
    episodic = node.get("episodic")
    turns = [
        turn
        for episode in (episodic if isinstance(episodic, list) else [])
        if (turn := _turn(as_node(episode))) is not None
    ]
    asked = tuple(dict.fromkeys(turn.whole for turn in turns if turn.whole is not None))
    return Conversation(turns[0] if turns else None, _pending(node.get("pending")), asked)


class AskedBack(Clarification, frozen=True):
    """A clarification about another question than the user's last message."""

    about: str = ""


def pending_of(question: str, clarification: Clarification) -> Json:
    """Return the open clarification as JSON; None where any question answers it."""
    said = clarification
    if isinstance(said, AskedBack) and said.about:
        question = said.about
    if not (said.options or said.unexplained or said.partial_plan is not None):
        return None
    return Pending(
        question, said.question, said.options, said.unexplained, said.partial_plan
    ).to_json()


def episode_of(
    question: Question,
    proposal: Proposal,
    tools: Toolbox | Catalogue,
    *,
    timestamp: str,
    plan: Plan | None = None,
    text: str = "",
) -> Episode:
    """Return what memory stores of a turn.

    Args:
        question: the question.
        proposal: what was proposed.
        tools: what plans may call.
        timestamp: of the question, in ISO 8601.
        plan: the checked plan; without it, the plan is read from the draft.
        text: more words by which the turn is found.
    """
    kept: Json = None if plan is None else dump(plan)
    pending: Json = None
    match proposal:
        case Draft(text=written, dialect="toolplan") if plan is None:
            kept = _parsed(written)
        case Clarification():
            pending = pending_of(question.text, proposal)
        case _:
            pass
    spoken = read_entities(
        _whole(question.text, as_node(as_node(kept).get("metadata"))) or question.text,
        tools,
        today=date.fromisoformat(question.today),
    )
    return Episode(question.text, timestamp, kept, spoken, text, pending)


def draft_of(plan: Plan, metadata: Mapping[str, Json]) -> Draft:
    """Return `plan` as text, with `metadata` in place of its own."""
    document = dump(replace(plan, metadata=dict(metadata)))
    written_by = text(metadata.get("planner")) or ""
    return Draft(json.dumps(document, ensure_ascii=False, indent=2), planner=written_by)


def _turn(episode: Mapping[str, Json]) -> Turn | None:
    query, plan = text(episode.get("query")), episode.get("plan")
    if query is None or plan is None:
        return None
    parsed = load(plan)
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        return None
    return Turn(query, parsed.plan, _whole(query, parsed.plan.metadata))


def _whole(query: str, metadata: Mapping[str, Json]) -> str | None:
    if FOLLOW_UP_OF not in metadata:
        return query
    return text(as_node(metadata[FOLLOW_UP_OF]).get("read_as"))


def _pending(raw: Json) -> Pending | None:
    node = as_node(raw)
    question, asked = text(node.get("question")), text(node.get("asked"))
    if question is None:
        return None
    options, unexplained = texts(node.get("options")), texts(node.get("unexplained"))
    return Pending(question, asked or "", options, unexplained, node.get("plan"))


def _parsed(written: str) -> Json:
    try:
        return json.loads(written)
    except ValueError:
        return None
