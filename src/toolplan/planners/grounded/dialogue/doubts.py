"""Follow-ups whose words change more than one place: asked whole with them, or asked about.

Each function looks at the message and at the whole question before it, and returns None where it
has nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from toolplan.plan import Literal, Plan
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL, Catalogue
from toolplan.planners.grounded.dates import TimeMention
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revision, Unsure
from toolplan.planners.grounded.dialogue.messages import Message, says
from toolplan.planners.grounded.dialogue.reading import Placed
from toolplan.planners.grounded.dialogue.replace import statements_of
from toolplan.planners.grounded.dialogue.turns import Turn
from toolplan.planners.grounded.language.phrases import FINITE, WordClass
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Mention,
    Name,
    Number,
    Quoted,
    Time,
)

_RANKS: Final = (
    WordClass.TOP, WordClass.HIGHEST, WordClass.LOWEST, WordClass.MOST, WordClass.FEWEST,
    WordClass.EXTREME, WordClass.WORST, WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST,
)  # fmt: skip
_OF_TIMES: Final = (WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST)
_NEXT: Final = re.compile(r"\b(?:next|following|other|others|previous|remaining|rest)\b")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_NAMED_PART: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\bq[1-4]\b|quarter|half"
)
_OF_ALL: Final = re.compile(
    r"\b(?:all|every|each|total|overall|altogether|there|ever|in general|any|whole)\b"
)
_BOUNDS: Final = (
    WordClass.ABOVE, WordClass.BELOW, WordClass.BETWEEN, WordClass.EXACTLY,
)  # fmt: skip
_FIGURE: Final = re.compile(
    r"^how many\b|\b(?:rate|share|percentage|number|count|average|median|mean|sum)\b"
)
_KNOWN: Final = re.compile(r"\S+ IS NOT NULL(?: AND )?")
_CONDITION: Final = re.compile(r" WHERE +(?!GROUP|ORDER|QUALIFY|HAVING)\S")
_WEEKDAY: Final = re.compile(r"\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?\b")
_ASK_WHOLE: Final = "Please ask the whole question."


async def doubtful(exchange: Exchange, message: Message) -> Revision | None:
    """Return what a follow-up means that changes more than one place, or the question about it."""
    found = await _doubt(exchange, message)
    if isinstance(found, Unsure):  # it stays open, so that "how many?" is about it
        return replace(found, unexplained=(exchange.message.strip(" .?!,"),))
    return found


async def _doubt(exchange: Exchange, message: Message) -> Revision | None:
    whole = exchange.turn.whole
    if whole is None:
        return None
    before = exchange.words.read(whole)
    if (ranked := await _ranked_otherwise(exchange, message, whole, before)) is not None:
        return ranked
    if (timed := await _at_another_time(exchange, message, whole, before)) is not None:
        return timed
    return (
        _once_denied(message, before)
        or _within_bounds(message, before)
        or _both_ways(exchange, message)
        or _all_of_a_filter(exchange, message)
        or _of_each_group(exchange, message)
    )


async def _ranked_otherwise(
    exchange: Exchange, message: Message, whole: str, before: Sequence[Placed]
) -> Revision | None:
    """Ask for the bottom 3 behind the top 3, where the number alone would be changed."""
    old = [p for p in before if p.mention.does(*_RANKS)]
    new = [p for p in message.placed if p.mention.does(*_RANKS)]
    numbers = [p for p in message.placed if _is_count(p.mention)]
    if not old or not numbers:
        return None
    if not new:
        said = _NEXT.search(fold(message.rest))
        return Unsure(f'Which ones are the "{said[0]}"? {_ASK_WHOLE}') if said else None
    if fold(new[0].mention.text) == fold(old[0].mention.text):
        return None
    if new[0].mention.does(WordClass.FIRST) and not old[0].mention.does(*_OF_TIMES):
        return None  # the first 3 of the 10 heaviest are the 3 heaviest
    counts = [p for p in before if _is_count(p.mention)]
    if len(old) == len(new) == len(numbers) == len(counts) == 1:
        start, end = _span(old[0], counts[0])
        first, last = _span(new[0], numbers[0])
        text = f"{whole[:start]}{message.rest[first:last]}{whole[end:]}"
        if (planned := await exchange.ask_whole(text)) is not None:
            return planned
    return Unsure(f'"{new[0].mention.text}" of what? {_ASK_WHOLE}')


def _is_count(mention: Mention) -> bool:
    return isinstance(mention.what, Number) and mention.what.unit is None


def _span(one: Placed, other: Placed) -> tuple[int, int]:
    return min(one.start, other.start), max(one.end, other.end)


async def _at_another_time(
    exchange: Exchange, message: Message, whole: str, before: Sequence[Placed]
) -> Revision | None:
    """Take the year of the time before: "in March 2025", "and April?"."""
    old = [(p, p.mention.what.mention) for p in before if isinstance(p.mention.what, Time)]
    new = [p.mention.what.mention for p in message.placed if isinstance(p.mention.what, Time)]
    if len(new) > 1:
        return Unsure(f"I can change one time only. {_ASK_WHOLE}")
    if len(old) != 1 or len(new) != 1:
        return None
    (place, was), now = old[0], new[0]
    if now.range.start is None and was.range.start is not None:
        return Unsure(f'From which day on, "{now.text}"? {_ASK_WHOLE}')
    if not now.floating or _YEAR.search(now.text):
        return None
    year, text = _YEAR.search(was.text), fold(now.text)
    if _NAMED_PART.search(text) is None:
        bare = _WEEKDAY.search(text) is None or year is not None
        asked = f'Which day is "{now.text}"? Please write it whole, such as {_example(now)}.'
        return Unsure(asked) if bare else None
    if year is None:
        return None
    said = f"{whole[: place.start]}{now.text} {year[0]}{whole[place.end :]}"
    planned = await exchange.ask_whole(said)
    if planned is not None:
        return planned
    return Unsure(f'In which year is "{now.text}"? {_ASK_WHOLE}')


def _example(time: TimeMention) -> str:
    return str(time.range.start or time.range.end)


def _once_denied(message: Message, before: Sequence[Placed]) -> Unsure | None:
    """Ask about "to Hull?" behind "not to York": to Hull, or not to Hull."""
    denied = [p for p in before if p.mention.does(WordClass.NOT, WordClass.WITHOUT)]
    if not denied or message.denies or message.same:
        return None
    left_out = {
        value.attribute for p in before if p.start > denied[0].start for value in p.mention.values
    }
    for placed in message.placed:
        if any(value.attribute in left_out for value in placed.mention.values):
            new = placed.mention.text
            return Unsure(f"With {new}, or without? {_ASK_WHOLE}")
    return None


def _within_bounds(message: Message, before: Sequence[Placed]) -> Unsure | None:
    """Ask about "between 1 and 2 kg" behind "over 3 kg"."""
    bounds = any(p.mention.does(WordClass.ABOVE, WordClass.BELOW) for p in before)
    between = any(p.mention.does(WordClass.BETWEEN) for p in message.placed)
    numbers = [p for p in message.placed if isinstance(p.mention.what, Number)]
    if bounds and (between or len(numbers) > 1):
        return Unsure(f"The question before has a bound of its own. {_ASK_WHOLE}")
    return None


def _both_ways(exchange: Exchange, message: Message) -> Unsure | None:
    """Ask about "to York" behind "from York": from York to York, or to York alone."""
    catalogue = exchange.catalogue
    for placed in message.placed:
        way = fold(message.rest[: placed.start]).split()[-1:]
        if way not in (["from"], ["to"]):
            continue
        for step in exchange.turn.plan.steps:
            card = catalogue.cards.get(step.tool)
            for name, value in step.args.items() if card is not None else ():
                role = card.arguments[name].role if card and name in card.arguments else None
                same = isinstance(value, Literal) and any(
                    each.value == value.value for each in placed.mention.values
                )
                if same and role in ("from", "to") and [role] != way:
                    new = placed.mention.text
                    return Unsure(f"From {new} to {new}, or {way[0]} {new} alone? {_ASK_WHOLE}")
    return None


def _all_of_a_filter(exchange: Exchange, message: Message) -> Unsure | None:
    """Ask about "for all colours" behind a question about red boxes."""
    every = any(
        p.mention.does(WordClass.EACH, WordClass.BY) or fold(p.mention.text) in ("all", "all of")
        for p in message.placed
    )
    if not every:
        return None
    chosen = _chosen(exchange, exchange.catalogue)
    for placed in message.placed:
        if not placed.mention.values and any(c.attribute in chosen for c in placed.mention.columns):
            said = placed.mention.text
            return Unsure(f'The question before is about one "{said}" only. {_ASK_WHOLE}')
    return None


def _of_each_group(exchange: Exchange, message: Message) -> Unsure | None:
    """Ask about "total weight" behind "boxes per sender": of each sender, or of all."""
    statements = statements_of(exchange.turn.plan)
    figure = any(p.mention.does(WordClass.STATISTIC, WordClass.HOW_MUCH) for p in message.placed)
    grouped = any(
        p.mention.does(WordClass.EACH, WordClass.EACH_PERIOD, WordClass.BY) for p in message.placed
    )
    if not figure or grouped or not any(" GROUP BY " in each for each in statements):
        return None
    return Unsure(f'"{message.rest}" of each, or of all? {_ASK_WHOLE}')


def _chosen(exchange: Exchange, catalogue: Catalogue) -> frozenset[str]:
    """Return the attributes that the previous plan has one value of."""
    return frozenset(
        attribute.name
        for step in exchange.turn.plan.steps
        if (card := catalogue.cards.get(step.tool)) is not None
        for attribute in catalogue.kinds[card.entity].attributes.values()
        if isinstance(step.args.get(attribute.equal or ""), Literal)
    )


def forgets(text: str, said: Sequence[Placed], turn: Turn) -> bool:
    """Return whether a whole question is about all things, where the turn before chose some.

    "How many letters?" behind "red boxes in May" may be about the letters in these boxes.
    """
    content = [placed.mention for placed in said if says(placed.mention)]
    if _OF_ALL.search(fold(text)) or not _chooses_some(turn):
        return False
    if any(isinstance(m.what, Time | Code | Name | Quoted) for m in content):
        return False
    if any(isinstance(m.what, Number) and not _is_count(m) for m in content):
        return False
    if any(m.does(*_BOUNDS) for m in content):
        return False
    if any(m.values for m in content):
        spoken = any(word.strip("?.,!") in FINITE for word in fold(text).split())
        return not spoken and (
            _FIGURE.search(fold(text)) is not None or text.rstrip().endswith("?")
        )
    ordered = bool(said) and said[0].mention.does(WordClass.READ)
    return not (ordered and any(m.nouns for m in content))


def keeps_chosen(plan: Plan, turn: Turn) -> bool:
    """Return whether `plan` has an argument of the turn before: a model may read the context."""
    return not _arguments(plan).isdisjoint(_arguments(turn.plan))


def _arguments(plan: Plan) -> frozenset[tuple[str, str]]:
    return frozenset(
        (name, repr(value.value))
        for step in plan.steps
        if step.tool != SQL_TOOL
        for name, value in step.args.items()
        if isinstance(value, Literal)
    )


def _chooses_some(turn: Turn) -> bool:
    """Return whether the plan of `turn` is about some things only."""
    for step in turn.plan.steps:
        statement = str(getattr(step.args.get("sql"), "value", ""))
        rest = _KNOWN.sub("", statement)
        if _CONDITION.search(rest) or (step.tool != SQL_TOOL and step.args):
            return True
    return False
