"""Unknown names that may be misspelt words: "letters in Agust" are in no town."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.diagnostics import near
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue
from toolplan.planners.grounded.dates.words import GIVEN_NAMES, MONTHS, OTHER_TIMES, WEEKDAYS
from toolplan.planners.grounded.parse.mentions import Quoted
from toolplan.planners.grounded.parse.requests import Modifier

_LIKE_NAMES: Final = GIVEN_NAMES | {"march"}
"""Months that look like names of people: Jane, Marc."""


def may_be_misspelt(
    name: str, modifier: Modifier, attribute: Attribute, catalogue: Catalogue
) -> bool:
    """Return whether `name` looks like a known value of `attribute`, or like another word.

    What is quoted, and what stands with the attribute's own word, "with location Agust", is meant
    as it is written.
    """
    if near(name, attribute.shape.gazetteer):
        return True
    if modifier.column is not None or isinstance(modifier.mention.what, Quoted):
        return False
    return bool(near(name, {*_times(modifier.cue), *_values(catalogue)}))


def _times(cue: str | None) -> Iterator[str]:
    people = cue == "by"
    for word in (*MONTHS, *WEEKDAYS):
        if not (people and word in _LIKE_NAMES):
            yield word
    if not people:
        yield from OTHER_TIMES


def _values(catalogue: Catalogue) -> Iterator[str]:
    for kind in catalogue.kinds.values():
        for attribute in kind.attributes.values():
            yield from attribute.shape.enum
