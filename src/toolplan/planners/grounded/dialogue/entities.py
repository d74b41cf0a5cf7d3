"""The entities of a text, as memory stores them: `book`, `location:Oslo`, `library:L1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.connections import is_cued_list
from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf, Noun, Reading, ValueOf
from toolplan.planners.grounded.dates import Weeks, find_times
from toolplan.planners.grounded.dialogue.reading import known
from toolplan.planners.grounded.language.words import fold, keys
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.reader import Reader
from toolplan.planners.grounded.planner import MAX_CHARACTERS
from toolplan.tools import Toolbox

_GENERAL: Final = ("type", "name", "id")
"""Names of attributes that mean nothing without the thing that has them."""
_ENDINGS: Final = ("_level", "_type", "_kind", "_name")
_SHORTEST_STEM: Final = 6
_ANY_DAY: Final = date(2000, 1, 3)
_CODE: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,12}[-_]?\d[\w]*(?:-\w+)*(?![\w-])")


def read_entities(
    text: str,
    tools: Toolbox | Catalogue,
    *,
    today: date | None = None,
    weeks: Weeks = "rolling",
) -> tuple[str, ...]:
    """Return the entities of `text`, each once, in the order of the text.

    They are kinds of things (`book`), values after their attribute (`status:lent`, `price:high`,
    every place as `location:Oslo`), ids after their thing (`library:L1`, or `id:X9` where it is not
    known), and with `today` times (`temporal:2025-10-05..2025-10-12`).
    """
    catalogue = known(tools)
    text = text[:MAX_CHARACTERS]
    found: dict[str, int] = {}
    for at, entity in (*_phrases(text, catalogue), *_identities(text, catalogue)):
        found[entity] = min(at, found.get(entity, at))
    for time in [] if today is None else find_times(text, today, weeks):
        start, end = time.range
        days = f"{start.isoformat() if start else ''}..{end.isoformat() if end else ''}"
        found.setdefault(f"temporal:{days}", time.start)
    return tuple(sorted(found, key=lambda entity: (found[entity], entity)))


def _phrases(text: str, catalogue: Catalogue) -> Iterator[tuple[int, str]]:
    """Yield the phrases that the tools know; a noun within a value counts too."""
    tokens = Reader(text, catalogue, _ANY_DAY, "rolling").tokens
    nouns: set[str] = set()
    values: list[tuple[int, list[ValueOf]]] = []
    seen = 0
    for at, token in enumerate(tokens):
        for end in range(min(at + catalogue.longest, len(tokens)), at, -1):
            phrase = tuple(each.key for each in tokens[at:end])
            readings = catalogue.lexicon.get(phrase, ())
            for named in _kinds(token.key, readings, catalogue):
                nouns.add(named)
                yield token.start, named
            found = [
                each
                for each in readings
                if isinstance(each, ValueOf) and not is_cued_list(catalogue.attribute(each))
            ]
            if found and at >= seen:
                values.append((token.start, found))
                seen = end
    for at, found in values:
        of_named = [reading for reading in found if reading.entity in nouns]
        for reading in of_named or found:
            if (said := _value(reading, catalogue)) is not None:
                yield at, said


def _kinds(word: str, readings: Iterable[Reading], catalogue: Catalogue) -> Iterator[str]:
    for reading in readings:
        match reading:
            case Noun(entity):
                yield entity
            case ColumnOf() if (named := _named_in(word, reading, catalogue)) is not None:
                yield named
            case _:
                pass


def _value(reading: ValueOf, catalogue: Catalogue) -> str | None:
    """Return a value as an entity; None for booleans and null."""
    if isinstance(reading.value, bool) or reading.value is None:
        return None
    return f"{label_of(reading, catalogue)}:{_shown(reading.value)}"


def label_of(reading: ValueOf, catalogue: Catalogue) -> str:
    """Return the attribute of a value as entities name it: `status`, `size`, `location`."""
    if catalogue.attribute(reading).shape.kind == "place":
        return "location"
    name = reading.attribute
    if name in _GENERAL:
        return f"{reading.entity}_{name}"
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else str(value)


def _named_in(word: str, reading: ColumnOf, catalogue: Catalogue) -> str | None:
    """Return the kind of thing behind the noun of an act: an "informant" for "information"."""
    if not word.endswith("ion"):
        return None
    parts = keys(reading.attribute)
    stem = word.removesuffix("ion").removesuffix("at")
    return next(
        (
            entity
            for entity in catalogue.kinds
            if entity in parts and len(stem) >= _SHORTEST_STEM and entity.startswith(stem)
        ),
        None,
    )


def _identities(text: str, catalogue: Catalogue) -> Iterator[tuple[int, str]]:
    linker = Linker(catalogue)
    for match in _CODE.finditer(text):
        owner = linker.owner(match[0]) or _named_before(text[: match.start()], catalogue)
        yield match.start(), f"{owner or 'id'}:{match[0]}"


def _named_before(text: str, catalogue: Catalogue) -> str | None:
    """Return the kind of thing whose noun ends `text`: "book " before "B1"."""
    last = re.findall(r"[^\W\d_]+", fold(text))[-1:]
    readings = catalogue.lexicon.get(keys(" ".join(last)), ()) if last else ()
    return next((each.entity for each in readings if isinstance(each, Noun)), None)
