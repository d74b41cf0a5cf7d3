"""The one tool without hints that all words of a question fit, or what to ask for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Final

from toolplan.path import Json
from toolplan.plan import Literal
from toolplan.plan_json import dump
from toolplan.planners._base import Clarification
from toolplan.planners.grounded.build.drafts import Argument, DraftPlan
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.grounded.unhinted.cards import PlainCard
from toolplan.planners.grounded.unhinted.fitting import Fit, Given, fit
from toolplan.planners.grounded.unhinted.said import Piece, pieces

MODEL_HELP: Final = (
    "A model understands more: name one with --model, the variable TOOLPLAN_MODEL,"
    " or toolplan_model in toolplan.toml."
)
_MOST_TOOLS: Final = 3
_MOST_NAMES: Final = 8


def propose_call(
    text: str, cards: Sequence[PlainCard], today: date, weeks: Weeks
) -> DraftPlan | Clarification:
    """Return the call that `text` asks for, or the question that is open.

    A tool is only called where it alone fits all words, and they give all that it requires.
    """
    said = pieces(text, today, weeks)
    keys = frozenset(piece.key for piece in said)
    fits = [fit(said, card) for card in cards if card.may_mean(keys)]
    whole = _best([each for each in fits if each.is_whole])
    if len(whole) == 1:
        return _called(text, whole[0])
    near = _best([each for each in fits if each.level == 3 and not each.left])
    if whole:
        return _asked(f"Several tools fit: {_listed(whole)}. Which one do you mean?")
    if len(near) == 1:
        return _completed(text, near[0])
    if fits:
        return _not_understood(fits)
    return _nothing_understood(fit(said, cards[0]), cards)


def _best(fits: list[Fit]) -> list[Fit]:
    """Return those of the highest level."""
    level = max((each.level for each in fits), default=0)
    return [each for each in fits if each.level == level]


def _called(text: str, found: Fit) -> DraftPlan:
    draft = _drafted(text, found)
    draft.note(f"assumed: {_reason(found)}")
    for sentence in found.assumed:
        draft.note(sentence)
    return draft


def _reason(found: Fit) -> str:
    because = {
        3: "its name says what is asked for",
        2: "its name ends with what is asked for",
        1: "its description speaks of it",
    }
    return f"{found.card.name} is meant; it alone fits all words, and {because[found.level]}"


def _drafted(text: str, found: Fit) -> DraftPlan:
    draft = DraftPlan(text)
    given = {
        name: Argument(Literal(found.arguments[name].value), _provenance(text, given))
        for name in found.card.arguments
        if (given := found.arguments.get(name)) is not None
    }
    draft.add(found.card.name, found.card.name, given)
    return draft


def _provenance(text: str, given: Given) -> Json:
    first = min(piece.word for piece in given.pieces)
    end = max(piece.end for piece in given.pieces)
    start = min(piece.start for piece in given.pieces)
    return {"words": [first, first + len(text[start:end].split()) - 1], "text": text[start:end]}


def _completed(text: str, near: Fit) -> Clarification:
    parts = [
        f'Which does "{value}" belong to: {" or ".join(names)}?' for value, names in near.unclear
    ]
    parts.extend(near.asked)
    open_names = {name for _, names in near.unclear for name in names}
    if missing := [name for name in near.missing if name not in open_names]:
        named = ", ".join(f'"{name}"' for name in missing)
        parts.append(f"Please also give {named}: {near.card.name} requires it.")
    partial: Json = json.loads(json.dumps(dump(_drafted(text, near).plan({}))))
    return Clarification(" ".join(parts), partial_plan=partial)


def _not_understood(fits: Sequence[Fit]) -> Clarification:
    near = sorted(fits, key=_distance)[:_MOST_TOOLS]
    unknown = _texts(near[0].left)
    parts = [_unknown(unknown)] if unknown else []
    parts.append(f"No tool fits all words for certain; the nearest: {_listed(near)}.")
    return _asked(" ".join(parts), unknown)


def _nothing_understood(found: Fit, cards: Sequence[PlainCard]) -> Clarification:
    if unknown := _texts(found.left):
        return _asked(f"{_unknown(unknown)} No tool fits these words.", unknown)
    names = [card.name for card in cards[:_MOST_NAMES]]
    more = f" and {len(cards) - len(names)} more" if len(cards) > len(names) else ""
    return _asked(f"What would you like to know? The tools are {', '.join(names)}{more}.")


def _texts(left: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(piece.value for piece in left))


def _unknown(texts: Sequence[str]) -> str:
    named = ", ".join(f'"{text}"' for text in texts)
    return f"I did not understand: {named}."


def _distance(found: Fit) -> tuple[int, int]:
    return (-found.level, len(found.left))


def _asked(question: str, unexplained: tuple[str, ...] = ()) -> Clarification:
    return Clarification(f"{question} {MODEL_HELP}", (), unexplained)


def _listed(fits: Sequence[Fit]) -> str:
    return ", ".join(f"{each.card.name}({', '.join(each.card.arguments)})" for each in fits)
