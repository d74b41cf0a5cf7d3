"""Claims: every number, share and identity of a text, and where it is in the results.

Names and dates are not checked.

A claim that is found may still be in a wrong sentence. A claim that is not found was invented,
computed by the writer, or has another source, and must be marked.

- A **number** is found if a value of the rows or the analysis rounds to it at its precision (`1.2k`
  is 1,150 to 1,250); after "about" and the like, within half of its last digit that is not zero,
  at most five percent. A limit of the question may be repeated ("the last 90 days", "top 5"). An
  ordinal ("3rd") must be within the longest list.
- A **share** ("37 %") is found if the rows or the analysis have it or its fraction, or if it is the
  share of a count in its total.
- An **identity** ("S1-001") is found if it is a whole word of one value, of the plan's literals or
  of the question.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.summary.evidence import Evidence, Origin, Place, folded
from toolplan.summary.numbers import Figure, figures, split_at_spaces
from toolplan.summary.spans import Span, blanked, dates, identities

_LIMIT_WORDS: Final = frozenset((
    "last", "past", "previous", "next", "top", "bottom", "first", "within", "than", "least", "most",
    "above", "below", "over", "under", "limit",
))  # fmt: skip
_UNITS_OF_TIME = re.compile(r"[ -]?(minute|hour|day|week|month|quarter|year)s?\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"^[ \t>*_]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_WORD_BEFORE = re.compile(r"([A-Za-z]+)[ ]?$")


class ClaimKind(StrEnum):
    """The kind of a claim."""

    NUMBER = "number"
    SHARE = "share"
    IDENTITY = "identity"


class Claim(Struct, frozen=True):
    """A figure or identity of a text.

    `span` is its start and end in the text; `where` is None if it was not found.
    """

    text: str
    span: tuple[int, int]
    kind: ClaimKind
    where: Place | None

    @property
    def found(self) -> bool:
        """Whether it is in the results."""
        return self.where is not None


def check_claims(text: str, evidence: Evidence) -> tuple[Claim, ...]:
    """Return the claims of `text`, in order, each with its place in `evidence`."""
    plain = _LIST_MARK.sub(lambda match: " " * len(match[0]), text)
    named = identities(plain)
    counted = figures(blanked(plain, (*dates(plain), *named)))
    claims = [
        *(_identity(text, span, evidence) for span in named),
        *(_number_claim(text, each, evidence) for each in counted),
    ]
    return tuple(sorted(claims, key=lambda each: each.span))


def _identity(text: str, span: Span, evidence: Evidence) -> Claim:
    said = text[slice(*span)]
    return Claim(said, span, ClaimKind.IDENTITY, evidence.phrase(folded(said)))


def _number_claim(text: str, figure: Figure, evidence: Evidence) -> Claim:
    kind = ClaimKind.SHARE if figure.share else ClaimKind.NUMBER
    where = _number(figure, evidence)
    if where is None and not figure.share:
        parts = split_at_spaces(text, figure)
        places = [_number(each, evidence) for each in parts]
        if places and all(places):
            where = places[0]
    if where is None and _repeats_limit(text, figure, evidence.question):
        where = Place(Origin.QUESTION)
    span = (figure.start, figure.end)
    return Claim(text[slice(*span)], span, kind, where)


def _number(figure: Figure, evidence: Evidence) -> Place | None:
    if figure.nth:
        inside = 1 <= figure.value <= evidence.longest_list
        return Place(Origin.ANALYSIS) if inside else None
    if figure.share:
        return evidence.share(figure.value, figure.tolerance)
    where = evidence.number(figure.value, figure.tolerance)
    if where is None and figure.either:
        return evidence.share(figure.value, figure.tolerance)
    return where


def _repeats_limit(text: str, figure: Figure, question: str) -> bool:
    """Return whether `figure` repeats a limit of the question: "the last 90 days", "top 5"."""
    before = _WORD_BEFORE.search(text[: figure.start])
    unit = _UNITS_OF_TIME.match(text, figure.end)
    for other in figures(question):
        if other.value != figure.value or other.share != figure.share:
            continue
        its_before = _WORD_BEFORE.search(question[: other.start])
        its_unit = _UNITS_OF_TIME.match(question, other.end)
        if unit and its_unit and unit[1].casefold() == its_unit[1].casefold():
            return True
        if before and its_before and before[1].casefold() == its_before[1].casefold():
            return before[1].casefold() in _LIMIT_WORDS
    return False
