"""The mentions of a message, with their places."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from msgspec import Struct

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.grounded.parse.mentions import Mention, Time
from toolplan.planners.grounded.parse.reader import Reader
from toolplan.tools import Toolbox


def known(tools: Toolbox | Catalogue) -> Catalogue:
    """Return the catalogue of `tools`."""
    return tools if isinstance(tools, Catalogue) else compile_catalogue(tools)


class Placed(Struct, frozen=True):
    """A mention at the characters `start` to `end` (exclusive) of its text."""

    mention: Mention
    start: int
    end: int


class Words(Struct, frozen=True):
    """What a text is read with: the words of the tools, and the day of the question."""

    catalogue: Catalogue
    today: date
    weeks: Weeks

    def read(self, text: str) -> tuple[Placed, ...]:
        """Return the mentions of `text` in the reading of longest phrases."""
        reader = Reader(text, self.catalogue, self.today, self.weeks)
        tokens = reader.tokens
        return tuple(
            Placed(mention, *_extent(mention, tokens[mention.first].start, last.end))
            for mention in next(reader.readings(), ())
            if (last := tokens[mention.end - 1])
        )


def _extent(mention: Mention, start: int, end: int) -> tuple[int, int]:
    """Return the place of a mention; a time knows its own."""
    match mention.what:
        case Time(mention=time):
            return time.start, time.end
        case _:
            return start, end


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` without the characters of `spans`, and without doubled blanks."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return " ".join(text.split()).strip(" ,;")
