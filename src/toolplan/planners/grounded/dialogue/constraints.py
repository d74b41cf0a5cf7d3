"""The constraints of the previous plan that hold in the next one, and the new ones."""

from __future__ import annotations

import re
from typing import Final

from toolplan.plan import Literal, Plan
from toolplan.planners.grounded.dialogue.exchange import Turn, Unsure
from toolplan.planners.grounded.dialogue.insert import RANGE, Anchor, cut_at, is_cut_after
from toolplan.planners.grounded.dialogue.messages import Message
from toolplan.planners.grounded.dialogue.origins import words_of
from toolplan.planners.grounded.dialogue.reading import without
from toolplan.planners.grounded.dialogue.replace import literals
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold

_ARTICLE: Final = re.compile(r"^the\s+", re.IGNORECASE)


def denied(anchor: Anchor, addition: Plan) -> str | None:
    """Return the constraint on the things that `addition` excludes, or None."""
    excluded = set(map(fold, literals(addition)))
    return next(
        (
            f"{name} = {value.value}"
            for name, value in anchor.target.args.items()
            if isinstance(value, Literal) and isinstance(value.value, str)
            if fold(value.value) in excluded
        ),
        None,
    )


def words_by_step(addition: Plan, anchor: Anchor) -> dict[tuple[str, str], str]:
    """Return the words of the arguments of `addition`, by the steps that they go to."""
    return {
        (anchor.target.id if step.tool == anchor.target.tool else step.id, name): text
        for step in addition.steps
        for name in step.args
        if (text := words_of(addition, step.id, name)) is not None
    }


def notes_of(addition: Plan) -> tuple[str, ...]:
    """Return the notes of a plan."""
    notes = addition.metadata.get("notes")
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def is_listed(plan: Plan, anchor: Anchor) -> bool:
    """Return whether `plan` lists the things of `anchor`, and no others of their kind."""
    listed = [step for step in plan.steps if step.tool == anchor.target.tool]
    said = {n: v for n, v in anchor.target.args.items() if isinstance(v, Literal)}
    return bool(listed) and all(
        step.args.get(name) == value for step in listed for name, value in said.items()
    )


def adds(anchor: Anchor, plan: Plan) -> bool:
    """Return whether `plan` has a new constraint on the things, except a limit."""
    limit = anchor.card.argument("limit")
    new = next((step for step in plan.steps if step.id == anchor.target.id), anchor.target)
    return any(name != limit and name not in anchor.target.args for name in new.args)


def keeps(anchor: Anchor, plan: Plan) -> bool:
    """Return whether `plan` keeps all constraints on the things."""
    new = next((step for step in plan.steps if step.id == anchor.target.id), anchor.target)
    return all(new.args.get(name) == value for name, value in anchor.target.args.items())


def is_cut(anchor: Anchor, turn: Turn) -> bool:
    """Return whether the user asked for a limit.

    "The ten longest, only the red ones" may be the red ones of ten, or ten red ones. A limit that
    a model set by itself does not count.
    """
    if is_cut_after(anchor, turn.plan):
        return True
    match cut_at(anchor):
        case None:
            return False
        case Literal(value=number):
            limit = anchor.card.argument("limit") or ""
            said = words_of(turn.plan, anchor.target.id, limit) is not None
            return said or str(number) in re.findall(r"\d+", turn.whole or turn.query)
        case _:
            return True


def first_of_a_time(message: Message, anchor: Anchor) -> Unsure | None:
    """Ask about "the first five" of a list of a time: the list may begin with the newest."""
    firsts = [each for each in message.placed if each.mention.does(WordClass.FIRST)]
    roles = {anchor.card.arguments[name].role for name in anchor.target.args}
    if not firsts or roles.isdisjoint(RANGE):
        return None
    said = without(message.rest, [(firsts[0].start, firsts[0].end)]).rstrip(" .?!")
    rest = _ARTICLE.sub("", said)
    options = (f"the oldest {rest}", f"the newest {rest}")
    return Unsure(f"Do you mean {' or '.join(options)}?", options)
