"""The turns before a question: how memory stores them, and how planners read them.

Memory recalls the context of a question, in the form of `Question.context`; `read_conversation`
reads it, and `episode_of` returns what memory stores of a turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.plan.canonical import dump, load
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
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

    `question` is what the user said, `asked` the clarification; the rest is as in `Clarification`.
    """

    question: str
    asked: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    plans: tuple[Json, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form."""
        fields = asdict(self).items()
        return {name: [*part] if isinstance(part, tuple) else part for name, part in fields}


class Conversation(Struct, frozen=True):
    """The last turn with a plan, and the open clarification."""

    last: Turn | None = None
    pending: Pending | None = None


def read_conversation(context: Json) -> Conversation:
    """Read the context of a question; invalid parts are ignored."""
    node = _node(context)
    turns = filter(None, map(_turn, _list(node.get("episodic"))))
    return Conversation(next(turns, None), _pending(node.get("pending")))


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
    """Return the episode of a turn, for memory.

    Args:
        question: the question.
        proposal: the proposal.
        timestamp: of the question, in ISO 8601.
        plan: the checked plan; without it, the plan is read from the draft.
        text: more words by which the turn is found.
    """
    kept: Json = None if plan is None else dump(plan)
    if kept is None and isinstance(proposal, Draft) and proposal.dialect == "toolplan":
        with suppress(ValueError):
            kept = json.loads(proposal.text)
    pending = pending_of(question.text, proposal) if isinstance(proposal, Clarification) else None
    entities = tuple(dict.fromkeys(_values(kept)))
    return Episode(question.text, timestamp, kept, entities, text, pending)


def _values(plan: Json) -> Iterator[str]:
    """Yield the texts that a plan's calls are given, each after the name of its argument."""
    for step in _list(_node(plan).get("steps")):
        for name, value in _node(_node(step).get("args")).items():
            if isinstance(value, str) and "${" not in value and "\n" not in value and name != "sql":
                yield f"{name}:{value}"


def _turn(episode: Json) -> Turn | None:
    match episode:
        case {"query": str(query), "plan": dict() | list() as plan}:
            parsed = load(plan)
            if parsed.plan is not None and not any(each.blocks for each in parsed.diagnostics):
                return Turn(query, parsed.plan)
        case _:
            pass
    return None


def _pending(raw: Json) -> Pending | None:
    match raw:
        case {"question": str(question), "asked": str(asked), **more}:
            options, unexplained = (
                tuple(each for each in _list(more.get(name)) if isinstance(each, str))
                for name in ("options", "unexplained")
            )
            return Pending(question, asked, options, unexplained, tuple(_list(more.get("plans"))))
        case _:
            return None


def _node(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
