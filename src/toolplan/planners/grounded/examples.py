"""Questions that the tools at hand can answer, to show to somebody who asked none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, Kind
from toolplan.planners.grounded.catalogue.schemas import as_node
from toolplan.planners.grounded.unhinted.cards import (
    PlainArgument,
    PlainCard,
    Takes,
    spoken_name,
)

MOST: Final = 3
_MOST_TRIED: Final = 24
_SAMPLES: Final[Mapping[str, str]] = {
    "city": "Paris", "town": "Paris", "location": "Paris", "place": "Paris",
    "address": "Paris", "country": "Germany", "region": "Bavaria", "origin": "Oslo",
    "destination": "Rome", "source": "Oslo", "target": "Rome", "from": "Oslo", "to": "Rome",
    "author": "Ada Lovelace", "name": "Ada Lovelace", "director": "Ada Lovelace",
    "artist": "Ada Lovelace", "language": "French", "currency": "USD", "topic": "music",
    "query": "music", "keyword": "music", "q": "music", "term": "music", "category": "music",
    "department": "Sales", "team": "Sales", "title": '"Emma"', "word": "music", "genre": "music",
}  # fmt: skip
"""A value for the last word of an argument's name, or for the first one."""
_CUES: Final = ("in", "by", "about", "from", "to", "into", "on", "at", "for")


def example_questions(
    catalogue: Catalogue, cards: Sequence[PlainCard], answers: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return up to three questions, of different things where there are several.

    `answers` says whether there is a plan for a question.
    """
    plain = {card.name for card in cards}
    kinds = [
        kind
        for kind in catalogue.kinds.values()
        if kind.listing is not None and kind.listing.name not in plain
    ]
    some = [
        *(_rotated(list(_of_kind(kind, catalogue)), at) for at, kind in enumerate(kinds)),
        *(list(_of_card(card)) for card in cards if card.reads),
    ]
    found: dict[str, None] = {}
    tried = 0
    for candidates in some:
        for text in candidates:
            tried += 1
            if answers(text):
                found[text] = None
                break
        if len(found) == MOST or tried >= _MOST_TRIED:
            break
    return tuple(found)


def _rotated(texts: list[str], at: int) -> list[str]:
    """Return `texts` from another one on, so that not all examples have the same form."""
    middle = at % len(texts) if texts else 0
    return [*texts[middle:], *texts[:middle]]


def _of_kind(kind: Kind, catalogue: Catalogue) -> Iterator[str]:
    """Yield questions about things that a tool with hints lists, each in another form."""
    many = kind.plural
    attributes = [each for each in kind.attributes.values() if each.equal is not None]
    said = next((word for each in attributes for word in _adjectives(each)), None)
    dated = kind.moment is not None and kind.moment.start is not None
    if said is not None:
        yield _sentence(f"{said} {many} from last month" if dated else f"{said} {many}")
    for each in attributes:
        if each.shape.kind == "place" and each.shape.gazetteer and each.shape.cues:
            yield _sentence(f"{many} {each.shape.cues[0]} {each.shape.gazetteer[0]}")
            break
    if catalogue.computes:
        yield f"How many {many} were there this year?" if dated else f"How many {many} are there?"
        group = next((g for each in attributes for g in _groups(each)), None)
        if group is not None:
            yield _sentence(f"{many} per {group}")
    yield f"List {many}"


def _adjectives(attribute: Attribute) -> Iterator[str]:
    shape = attribute.shape
    if shape.is_boolean:
        yield from (phrase for phrase in shape.values.get("true", ()) if " " not in phrase)
    else:
        yield from (value for value in shape.enum if value.isalpha())


def _groups(attribute: Attribute) -> Iterator[str]:
    shape = attribute.shape
    if attribute.column is not None and (shape.enum or shape.gazetteer):
        yield attribute.name.replace("_", " ")


def _of_card(card: PlainCard) -> Iterator[str]:
    """Yield questions that one tool without hints can answer."""
    parts = [_said(each, card) for each in card.arguments.values() if each.required]
    if any(part is None for part in parts):
        return
    behind = "".join(f" {part}" for part in parts)
    named = spoken_name(card)
    if named:
        yield _sentence(f"{named}{behind}")
        yield f"Show the {named}{behind}"
    if card.verb is not None:
        yield _sentence(f"{card.verb} {named}{behind}" if named else f"{card.verb}{behind}")


def _said(argument: PlainArgument, card: PlainCard) -> str | None:
    """Return how a question gives the argument a value, or None where no value is known."""
    value = _sample(argument, card)
    if value is None:
        return None
    cue = next((cue for cue in _CUES if argument.wants(cue)), None)
    if card.verb is not None and not card.nouns:
        cue = cue if cue in ("in", "into", "to", "from") else "for"
    if value.startswith('"') and [a.takes for a in card.arguments.values()].count(Takes.PROSE) == 1:
        return value
    if argument.takes is Takes.DAY:
        return value
    if argument.takes is Takes.CHOICE or (cue is None and argument.takes is not Takes.NAME):
        return f"with {' '.join(argument.words)} {value}"
    return f"{cue or 'for'} {value}"


def _sample(argument: PlainArgument, card: PlainCard) -> str | None:
    declared = as_node(as_node(card.tool.raw_input).get("properties")).get(argument.name)
    node = as_node(declared)
    examples = node.get("examples")
    first: Json = examples[0] if isinstance(examples, list) and examples else node.get("default")
    if isinstance(first, str) and first:
        plain = argument.takes is Takes.IDENTITY or first.isalpha()
        return first if plain else f'"{first}"'
    if isinstance(first, int | float) and not isinstance(first, bool):
        return f"{first:g}"
    match argument.takes:
        case Takes.CHOICE:
            return argument.shape.enum[0]
        case Takes.DAY:
            return "today"
        case Takes.NUMBER:
            return "10"
        case Takes.PROSE:
            return '"Good morning"'
        case Takes.NAME:
            words = (*argument.words[-1:], *argument.words[:1])
            return next((_SAMPLES[word] for word in words if word in _SAMPLES), None)
        case _:
            return None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
