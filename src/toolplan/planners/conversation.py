"""The turns before a question: how memory stores them, and how planners read them.

Memory recalls the context of a question, in the form of `Question.context`; `read_conversation`
reads it, and `episode_of` returns what memory stores of a turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import dump, load
from toolplan.planners._base import Clarification, Draft, Proposal, Question
from toolplan.storage.memory import Episode

FOLLOW_UP_OF: Final = "follow_up_of"
"""The field of the metadata of a follow-up's plan:
`{"query": the message of the previous turn, "read_as": the whole question in words}`
"""


class Turn(Struct, frozen=True):
    """A turn with a plan, and its message."""

    query: str
    plan: Plan


class Pending(Struct, frozen=True):
    """A clarification without an answer yet: the part `pending` of a question's context.

    Attributes:
        question: what the user said.
        asked: the clarification.
        options: the answers that were offered.
        unexplained: the words that were not understood.
        plans: the plan of each option, in canonical JSON; empty where options have none.
    """

    question: str
    asked: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    plans: tuple[Json, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form."""
        return {
            "question": self.question,
            "asked": self.asked,
            "options": [*self.options],
            "unexplained": [*self.unexplained],
            "plans": [*self.plans],
        }


class Conversation(Struct, frozen=True):
    """The last turn with a plan, and the open clarification."""

    last: Turn | None = None
    pending: Pending | None = None


def read_conversation(context: Json) -> Conversation:
    """Read the context of a question; invalid parts are ignored."""
    node = _node(context)
    episodes = node.get("episodic")
    found = (_turn(_node(each)) for each in (episodes if isinstance(episodes, list) else []))
    return Conversation(
        next((turn for turn in found if turn is not None), None), _pending(node.get("pending"))
    )


def pending_of(question: str, asked: Clarification) -> Json:
    """Return an open clarification as JSON; None where any question answers it."""
    if not (asked.options or asked.unexplained or asked.partial_plan is not None):
        return None
    return Pending(
        question, asked.question, asked.options, asked.unexplained, asked.plans
    ).to_json()


def episode_of(
    question: Question,
    proposal: Proposal,
    *,
    timestamp: str,
    plan: Plan | None = None,
    text: str = "",
) -> Episode:
    """Return what memory stores of a turn.

    Args:
        question: the question.
        proposal: what was proposed.
        timestamp: of the question, in ISO 8601.
        plan: the checked plan; without it, the plan is read from the draft.
        text: more words by which the turn is found.
    """
    kept: Json = None if plan is None else dump(plan)
    if kept is None and isinstance(proposal, Draft) and proposal.dialect == "toolplan":
        kept = _parsed(proposal.text)
    asked = proposal if isinstance(proposal, Clarification) else None
    pending = None if asked is None else pending_of(question.text, asked)
    entities = tuple(dict.fromkeys(_values(kept)))
    return Episode(question.text, timestamp, kept, entities, text, pending)


def _values(plan: Json) -> Iterator[str]:
    """Yield the texts that a plan's calls are given, each after the name of its argument."""
    steps = _node(plan).get("steps")
    for step in steps if isinstance(steps, list) else []:
        for name, value in _node(_node(step).get("args")).items():
            if isinstance(value, str) and "${" not in value and "\n" not in value and name != "sql":
                yield f"{name}:{value}"


def _turn(episode: Mapping[str, Json]) -> Turn | None:
    query, plan = episode.get("query"), episode.get("plan")
    if not isinstance(query, str) or plan is None:
        return None
    parsed = load(plan)
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        return None
    return Turn(query, parsed.plan)


def _pending(raw: Json) -> Pending | None:
    node = _node(raw)
    question, asked, plans = node.get("question"), node.get("asked"), node.get("plans")
    if not isinstance(question, str) or not isinstance(asked, str):
        return None
    offered = tuple(plans) if isinstance(plans, list) else ()
    return Pending(
        question, asked, _texts(node.get("options")), _texts(node.get("unexplained")), offered
    )


def _node(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, Mapping) else {}


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _parsed(written: str) -> Json:
    try:
        return json.loads(written)
    except ValueError:
        return None
