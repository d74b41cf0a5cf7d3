"""Claims: every number, share, date and name of a text, and where it is in the results.

A claim that is found may still be in a wrong sentence. A claim that is not found was invented,
computed by the writer, or has another source, and must be marked.

- A **number** is found if a value of the rows or the analysis rounds to it at its precision (`1.2k`
  is 1,150 to 1,250); after "about" and the like, within half of its last digit that is not zero,
  at most five percent. A limit of the question may be repeated ("the last 90 days", "top 5"). An
  ordinal ("3rd") must be within the longest list.
- A **share** ("37 %") is found if the rows or the analysis have it or its fraction, or if it is the
  share of a count in its total.
- A **date** is found if it, or any day of its month, quarter or year, is in the results, the
  arguments of the plan, or the question.
- A **name** is found if it is in one value, is the name of a tool or field, or a word of the
  question. Several words must be in the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.summary.dates import Moment, moments
from toolplan.summary.evidence import Evidence, Origin, Place, blanked, folded
from toolplan.summary.names import Naming, codes, names
from toolplan.summary.numbers import Figure, figures, split_at_spaces
from toolplan.summary.words import word_set

_LIMIT_WORDS: Final = word_set(
    "last past previous next top bottom first within than least most above below over under limit"
)
_UNITS_OF_TIME = re.compile(r"[ -]?(minute|hour|day|week|month|quarter|year)s?\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"^[ \t>*_]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_WORD_BEFORE = re.compile(r"([A-Za-z]+)[ ]?$")
_ENDINGS: Final = word_set(
    "s es d ed ted ing ting ion ions tion tions n ns nt nts ment ments al ly y ies er ers or"
    " ors e able ance ation"
) | {""}
_LEAST_STEM: Final = 4


class ClaimKind(StrEnum):
    """The kind of a claim."""

    NUMBER = "number"
    SHARE = "share"
    DATE = "date"
    NAME = "name"


class Claim(Struct, frozen=True):
    """A figure, date or name of a text.

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
    coded = codes(plain)
    rest = blanked(plain, ((each.start, each.end) for each in coded))
    dated = moments(rest)
    rest = blanked(rest, ((each.start, each.end) for each in dated))
    counted = figures(rest)
    named = names(blanked(rest, ((each.start, each.end) for each in counted)))
    claims = [
        *(_claim(text, each, ClaimKind.NAME, _code(each, evidence)) for each in coded),
        *(_claim(text, each, ClaimKind.DATE, _moment(each, evidence)) for each in dated),
        *(_number_claim(text, each, evidence) for each in counted),
        *(_claim(text, each, ClaimKind.NAME, _name(each, evidence)) for each in named),
    ]
    return tuple(sorted(claims, key=lambda each: each.span))


def _claim(
    text: str, said: Naming | Moment | Figure, kind: ClaimKind, where: Place | None
) -> Claim:
    return Claim(text[said.start : said.end], (said.start, said.end), kind, where)


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
    return _claim(text, figure, kind, where)


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


def _moment(said: Moment, evidence: Evidence) -> Place | None:
    if said.time and evidence.times.get(said.time.zfill(5)) is None:
        return evidence.phrase(folded(said.time))
    if said.weekday is not None:
        days = (at for day, at in evidence.days.items() if day.weekday() == said.weekday)
        return next(days, None)
    if said.day is not None:
        return next(_days(said, evidence), None)
    if said.months:
        found = (evidence.months.get((said.year, month)) for month in said.months)
        return next((each for each in found if each is not None), None)
    if said.year is not None:
        return evidence.years.get(said.year)
    return evidence.times.get(said.time.zfill(5))


def _days(said: Moment, evidence: Evidence) -> Iterator[Place]:
    wanted = {(month, said.day) for month in said.months}
    if said.swapped is not None:
        wanted.add(said.swapped)
    for day, place in evidence.days.items():
        if (day.month, day.day) in wanted and said.year in (None, day.year):
            yield place


def _code(said: Naming, evidence: Evidence) -> Place | None:
    return evidence.phrase(folded(said.text))


def _name(said: Naming, evidence: Evidence) -> Place | None:
    parts = folded(said.text).split()
    if not parts:
        return Place(Origin.NAMES)  # punctuation only
    whole = evidence.phrase(" ".join(parts))
    if whole is not None:
        return whole
    if len(parts) == 1:
        return _word(parts[0], evidence, loosely=said.opening > 0)
    return _in_pieces(parts, evidence, opening=said.opening > 0)


def _in_pieces(parts: list[str], evidence: Evidence, *, opening: bool) -> Place | None:
    """Find adjacent names: each piece is a phrase or a whole value."""
    first: Place | None = None
    at = 0
    while at < len(parts):
        for end in range(len(parts), at, -1):
            piece = " ".join(parts[at:end])
            if end - at > 1:
                where = evidence.phrase(piece)
            else:
                # a single word must be a whole value or name
                where = evidence.texts.get(piece) or evidence.words.get(piece)
                if where is None and opening and at == 0:
                    where = _word(piece, evidence, loosely=True)
            if where is not None:
                first, at = first or where, end
                break
        else:
            return None
    return first


def _word(word: str, evidence: Evidence, *, loosely: bool) -> Place | None:
    """Find one word, also in the plural; `loosely`: with any ending."""
    for form in _singulars(word):
        if (where := evidence.phrase(form)) is not None:
            return where
    if not loosely:
        return None
    known = {**evidence.words, **{key: at for key, at in evidence.texts.items() if " " not in key}}
    return next((at for other, at in known.items() if _same_stem(word, other)), None)


def _singulars(word: str) -> Iterator[str]:
    yield word
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s") and len(word) > 3:
        yield word[:-1]
    yield word + "s"


def _same_stem(word: str, other: str) -> bool:
    """Return whether two words differ only in their endings: borrowed, borrowers."""
    common = 0
    for mine, its in zip(word, other, strict=False):
        if mine != its:
            break
        common += 1
    if common < _LEAST_STEM:
        return False
    return word[common:] in _ENDINGS and other[common:] in _ENDINGS
