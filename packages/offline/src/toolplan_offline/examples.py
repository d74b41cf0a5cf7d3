"""Questions that the tools at hand can answer, to show to somebody who asked none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from toolplan_offline.lexicon import Lexicon
from toolplan_offline.schemas import Entity, Field
from toolplan_offline.words import plural


def example_questions(lex: Lexicon, answers: Callable[[str], bool]) -> tuple[str, ...]:
    """Return up to three questions for which `answers` returns true, of different things."""
    found: list[str] = []
    for entity in [e for e in lex.entities.values() if e.list_tool][:6]:
        texts = [*_of(entity)]
        first = len(found) % len(texts)  # of each thing another kind of question
        found += islice(filter(answers, [*texts[first:], *texts[:first]]), 1)
    return tuple(found[:3])


def _of(entity: Entity) -> Iterator[str]:
    many = plural(entity.nouns[0])
    filters = [f for f in entity.fields.values() if f.equal and f.values]
    states = [f for f in filters if f.kind == "enum"]
    if states:
        period = " from last month" if entity.day else ""
        yield f"{_first(states[0])} {many}{period}".capitalize()
    places = [f for f in filters if f.kind == "place" and f.cues and not f.cued]
    if places:
        yield f"{many} {places[0].cues[0]} ".capitalize() + _first(places[0])
    yield f"How many {many} were there this year?" if entity.day else f"How many {many} are there?"
    yield f"List {many}"


def _first(field: Field) -> str:
    return next(text for texts in field.values.values() for text in texts[:1])
