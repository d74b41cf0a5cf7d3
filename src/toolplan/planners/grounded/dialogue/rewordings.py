"""The previous whole question, asked again with other words in one place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revision, Unsure
from toolplan.planners.grounded.dialogue.insert import Anchor
from toolplan.planners.grounded.dialogue.messages import Message, says
from toolplan.planners.grounded.dialogue.reading import Placed
from toolplan.planners.grounded.dialogue.replace import (
    literals,
    reword,
    spots_of,
    statements_of,
)
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.mentions import Number

_ABOUT: Final = re.compile(r"^(?:for|with|about|of|on)\s+", re.IGNORECASE)
_STRICT: Final = re.compile(r"[<>] \d")
_GROUPED: Final = re.compile(r"\bGROUP BY\s+(\w+)")


async def several(exchange: Exchange, message: Message) -> Revision | None:
    """Replace one value by several: "the same for a and b"."""
    by_attribute: dict[str, list[Placed]] = {}
    for placed in message.placed:
        for name in {value.attribute for value in placed.mention.values}:
            by_attribute.setdefault(name, []).append(placed)
    values = next((group for group in by_attribute.values() if len(group) > 1), None)
    if values is None:
        return None
    olds = tuple(dict.fromkeys(s.old for p in values for s in spots_of(exchange, p)))
    text = message.rest[values[0].start : values[-1].end]
    whole = reword(exchange, olds[0], text) if len(olds) == 1 else None
    return None if whole is None else await exchange.ask_whole(whole)


async def joined(exchange: Exchange, message: Message) -> Revision | None:
    """Add a value to the question: "York too"."""
    if not message.besides:
        return None
    for placed in message.placed:
        olds = dict.fromkeys(spot.old for spot in spots_of(exchange, placed))
        if not olds:
            continue
        old, new = next(iter(olds)), placed.mention.text
        whole = reword(exchange, old, f"{old} and {new}") if len(olds) == 1 else None
        planned = None if whole is None else await exchange.ask_whole(whole)
        if planned is not None:
            return planned
        options = tuple(f"{new} instead of {each}" for each in olds)
        return Unsure(f"I cannot plan for both {new} and {' and '.join(olds)}.", options)
    return None


async def restated(exchange: Exchange, message: Message) -> Revision | None:
    """Replace a value that the previous plan has only in a statement."""
    catalogue = exchange.catalogue
    written = {fold(text) for text in literals(exchange.turn.plan)}
    for placed in message.placed:
        olds = dict.fromkeys(
            other
            for value in placed.mention.values
            for shape in [catalogue.attribute(value).shape]
            for other in (*shape.enum, *shape.gazetteer)
            if fold(other) in written and other != value.value
        )
        if not olds:
            continue
        whole = reword(exchange, next(iter(olds)), placed.mention.text) if len(olds) == 1 else None
        planned = None if whole is None else await exchange.ask_whole(whole)
        old = " and ".join(olds)
        question = f"The previous plan computes with {old}. Please ask the whole question."
        return Unsure(question) if planned is None else planned
    return None


async def about(exchange: Exchange, message: Message, found: tuple[Anchor, ...]) -> Revision | None:
    """Ask the question about another kind of thing: "what about a?"."""
    whole = exchange.turn.whole
    if whole is None:
        return None
    entities = {anchor.card.entity for anchor in found if anchor.rows is not None}
    grouped = _groups(exchange)
    places = [
        each
        for each in exchange.words.read(whole)
        if not entities.isdisjoint(each.mention.nouns)
        or any(column.attribute in grouped for column in each.mention.columns)
    ]
    if len(places) != 1:
        return None
    said = _ABOUT.sub("", message.rest)
    planned = await exchange.ask_whole(f"{whole[: places[0].start]}{said}{whole[places[0].end :]}")
    if planned is None:
        return None
    note = f"understood as the same question about {said}, not as the {said} of the things listed"
    return replace(planned, notes=(note,))


async def regrouped(exchange: Exchange, message: Message) -> Revision | None:
    """Ask the question with other groups: "and for materials?"."""
    whole, grouped = exchange.turn.whole, _groups(exchange)
    said = [p for p in message.placed if p.mention.columns and not p.mention.values]
    if whole is None or len(said) != 1 or not grouped:
        return None
    places = [
        each
        for each in exchange.words.read(whole)
        if any(column.attribute in grouped for column in each.mention.columns)
    ]
    replaces = message.mode == "replaces"  # "per colour instead"
    others = [
        p
        for p in message.placed
        if p is not said[0]
        and says(p.mention)
        and not (replaces and p.mention.does(WordClass.EACH, WordClass.EACH_PERIOD, WordClass.BY))
    ]
    if len(places) != 1 or others:
        return None
    new = said[0].mention.text
    return await exchange.ask_whole(f"{whole[: places[0].start]}{new}{whole[places[0].end :]}")


def _groups(exchange: Exchange) -> frozenset[str]:
    """Return the columns that the previous plan groups by."""
    statements = (
        str(getattr(step.args.get("sql"), "value", ""))
        for step in exchange.turn.plan.steps
        if step.tool == SQL_TOOL
    )
    return frozenset(name for sql in statements for name in _GROUPED.findall(sql))


async def renumbered(exchange: Exchange, message: Message) -> Revision | None:
    """Ask the question with another number: "over 800 tonnes"."""
    whole = exchange.turn.whole
    new = [p for p in message.placed if isinstance(p.mention.what, Number)]
    if whole is None or len(new) != 1 or message.mode == "narrows":
        return None
    read = exchange.words.read(whole)
    old = [p for p in read if isinstance(p.mention.what, Number)]
    if len(old) != 1:
        return None
    first = _compared(message.placed, new[0])
    # "80 %" after "more than 90 %" is as much a lower bound
    start = _compared(read, old[0]) if first != new[0].start else old[0].start
    said = message.rest[first : new[0].end]
    return await exchange.ask_whole(f"{whole[:start]}{said}{whole[old[0].end :]}")


async def renumbered_throughout(exchange: Exchange, message: Message) -> Revision | None:
    """Replace a bound that stands in an argument and in a statement: "over 5 kg"."""
    if not any(_STRICT.search(sql) for sql in statements_of(exchange.turn.plan)):
        return None
    numbered = await renumbered(exchange, message)
    bare = any(isinstance(placed.mention.what, Number) for placed in message.placed)
    if numbered is None and bare and message.mode == "replaces":
        return Unsure("The previous plan computes with another number. Please ask it whole.")
    return numbered


def _compared(placed: Sequence[Placed], number: Placed) -> int:
    """Return where a number begins, with a word like *over* before it."""
    at = placed.index(number)
    if at > 0 and placed[at - 1].mention.does(WordClass.ABOVE, WordClass.BELOW, WordClass.EXACTLY):
        return placed[at - 1].start
    return number.start
