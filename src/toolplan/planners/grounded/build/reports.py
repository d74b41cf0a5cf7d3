"""Questions that a reporting tool answers: its own phrase, and nothing that it cannot take."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolplan.path import Json
from toolplan.plan import Literal
from toolplan.planners.grounded.build.drafts import Argument, DraftPlan, ordered
from toolplan.planners.grounded.catalogue.kinds import Catalogue, ToolCard
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import UNITS, key
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time

_BENIGN = (
    WordClass.FILLER, WordClass.DETAIL, WordClass.WHICH, WordClass.READ, WordClass.STOP,
    WordClass.COMMA, WordClass.BE,
)  # fmt: skip
_CUES = frozenset({"for", "of", "in", "over", "from", "during", "on", "at", "within", "between"})


def report(mentions: Sequence[Mention], catalogue: Catalogue, draft: DraftPlan) -> bool:
    """Add the call of the report that the question asks for; False where it asks for none."""
    asked = [mention for mention in mentions if mention.reports]
    if len(asked) != 1 or len(asked[0].reports) != 1:
        return False
    card = catalogue.cards[asked[0].reports[0]]
    arguments: dict[str, Argument] = {}
    for mention in mentions:
        if mention is asked[0]:
            continue
        if not _is_taken(mention, card, draft, arguments):
            return False
    if any(name not in arguments for name in card.required):
        return False
    draft.add(card.name, card.name, ordered(card, arguments))
    return True


def _is_taken(
    mention: Mention, card: ToolCard, draft: DraftPlan, arguments: dict[str, Argument]
) -> bool:
    match mention.what:
        case Time(time):
            given: dict[str, Json] = _last_days(card, time.text)
            roles = () if given else ("range.start", "range.end")
            for role, day in zip(roles, time.range, strict=False):
                name = card.argument(role)
                if day is not None and name is None:
                    return False
                if day is not None and name is not None:
                    given[name] = day.isoformat()
            counted = ", ".join(f"{name} {days}" for name, days in given.items() if not roles)
            draft.note(f"{time.text} = {counted}, as the tool counts" if counted else time.reading)
        case Code(text):
            name = _identity(card)
            if name is None:
                return False
            given = {name: text}
        case Number(value, unit) if unit is not None:
            name = _counting(card, unit)
            if name is None:
                return False
            given = {name: int(value)}
        case _:
            if card.entity in mention.nouns and _identity(card) is not None:
                return True
            return mention.does(*_BENIGN) or mention.cue in _CUES
    if not arguments.keys().isdisjoint(given):
        return False
    reason = draft.words([mention])
    arguments |= {name: Argument(Literal(value), reason) for name, value in given.items()}
    return True


def _identity(card: ToolCard) -> str | None:
    wanted = f"{card.entity}.id"
    return next((name for name, each in card.arguments.items() if each.ref == wanted), None)


def _last_days(card: ToolCard, text: str) -> dict[str, Json]:
    """Return the argument that counts days back, for "the last 14 days"."""
    found = re.search(r"\b(?:last|past|previous) (\d+) days$", text.casefold())
    name = _counting(card, "day")
    if found is None or name is None:
        return {}
    return {name: int(found[1])}


def _counting(card: ToolCard, unit: str) -> str | None:
    def counts(shape: Shape) -> bool:
        own = UNITS.get(key(shape.unit or ""))
        return shape.is_number and own is not None and own == UNITS.get(unit)

    return next((name for name, each in card.arguments.items() if counts(each)), None)
