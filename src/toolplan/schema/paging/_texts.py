"""Texts that say how much of a list a result holds: `Showing 50 of 120`, `... and 70 more`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json, Path
from toolplan.plan.text.loose import is_ellipsis
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._facts import NUMBER, at, number_in
from toolplan.schema.paging._names import folded

_MOST_SEARCHED: Final = 500
_MOST_NOTES: Final = 20
_BEGINS_AS_MARK: Final = re.compile(r"\s*(?:\.\.\.|…|[(\[+]|and\b|plus\b|\d)", re.I)
_NO: Final = re.compile(r"\b(?:no|not|never|nothing|none|without|0|\w+n't)\b[^.;]{0,20}$")

_N: Final = f"({NUMBER})"
_ABOUT: Final = "(?:about |over |more than |~)?"
_ARE: Final = "(?:(?:are|is|were|was|have been) )?"
_OTHERS: Final = "(?:more|others?|further|additional|remaining)"
_SHOWN: Final = r"(?:showing|shown?|shows|display(?:ing|ed|s)|return(?:ing|ed|s)|list(?:ing|ed|s))"
_GONE: Final = (
    "(?:omitted|hidden|truncated|elided|left out|cut off"
    "|not (?:shown|listed|displayed|returned|included))"
)
_LEAVING_OUT: Final = "(?:omitted|omitting|hiding|skipped|dropped)"
_CUT: Final = "(?:truncated|limited|capped|cut)(?: off)? (?:to|at|after)"
_IN_PART: Final = "(?:truncated|incomplete|capped|cut off|partial)"


class _Grammar(Struct, frozen=True):
    """The patterns of texts about a list: each has the numbers that its name says as groups.

    Those `in_notes` are for texts about the result, as the others also stand in those of a person.
    """

    left: re.Pattern[str]
    shown_of_all: re.Pattern[str]
    left_in_notes: re.Pattern[str]
    all_in_notes: re.Pattern[str]
    page_of_all_in_notes: re.Pattern[str]
    shown_in_notes: re.Pattern[str]
    part_in_notes: re.Pattern[str]


@lru_cache(maxsize=256)
def _grammar(own: tuple[str, ...]) -> _Grammar:
    """Return the patterns for a list whose rows have the names `own`."""
    noun = f"(?:{'|'.join([*map(re.escape, own), names.NOUN])}|lines?|of them)"
    left = (
        rf"\b{_N} (?:{_OTHERS} \w+ |(?:{_OTHERS} )?(?:{noun} )?){_ARE}{_GONE}",
        rf"\b{_N} {_OTHERS} {noun}\b",
        rf"\b{_N} {noun} {_ARE}(?:left|remain|skipped|dropped)",
        rf"\bthere {_ARE}{_N} {_OTHERS}\b",
        rf"\b{_LEAVING_OUT} {_N} (?:{_OTHERS} )?{noun}",
    )
    every = (
        rf"\b{_N} {noun} {_ARE}(?:found|in total|in all|total|match\w*|available)",
        rf"\b(?:found|matched|total(?: of|:)?) {_ABOUT}{_N}(?: {noun}\b|\W*$)",
        rf"\b{_N} {noun}\W+(?:\w+ )?\d+ {_SHOWN}",
        rf"\b(?:total|number of)(?: \w+)? {noun}:? {_N}|\b{_N} total\b",
    )
    part = (
        rf"\b(?:lists?|output|response|{noun})(?: \w+){{0,2}} {_IN_PART}",
        rf"\bpartial (?:{noun}|list)\b",
        r"\b(?:limit|maximum)\b[^.;]{0,30} (?:reached|exceeded)\b",
        r"\bthere (?:are|is) more\b",
        rf"\bmore {noun} {_ARE}(?:available|exist|remain|follow|found)\b",
        rf"^\W*(?:{_GONE}|incomplete|partial|more)\W*$",
    )
    first = rf"(?:only|{_SHOWN}) (?:only |the )*(?:first|top|up to|last|latest|most recent)"
    all_ = r"\(?(?:/|(?:out )?of)\s*(?:the |a total of )?"
    return _Grammar(
        re.compile(rf"(?:\band|\bplus|\+|\.\.\.|…|[(\[])\s*{_N} {_OTHERS}\b|^\W*{_N} more\W*$"),
        re.compile(rf"{_N}\s*(?:{noun}\s*)?{all_}{_ABOUT}{_N}"),
        re.compile("|".join(left)),
        re.compile("|".join(every)),
        re.compile(r"\bpage:? (\d{1,9}) ?(?:of|/) ?(\d{1,9})"),
        re.compile(rf"\b(?:{_CUT}|{first}) (?:the first )?{_N}"),
        re.compile("|".join(part)),
    )


def said_in(
    text: str, rows: int, own: tuple[str, ...], *, is_note: bool
) -> tuple[int | None, str] | None:
    """Return the number of all rows, if known, and the reason, where `text` speaks of a part.

    It stands beside so many `rows`, or in the place of a further one; `own` are their names.
    """
    text, grammar = text[:_MOST_SEARCHED].lower(), _grammar(own)
    for pattern in (grammar.left, grammar.left_in_notes)[: 1 + is_note]:
        for more in _numbers(pattern, text):
            if more > 0:
                return rows + more, "total"
    for found in grammar.shown_of_all.finditer(text):
        shown, total = map(number_in, found.groups())
        if shown in (rows, rows - 1) and total > rows:
            return total, "total"
    if not is_note:
        return None
    if (most := max(_numbers(grammar.all_in_notes, text), default=0)) > rows:
        return most, "total"
    if any(int(found[2]) > 1 for found in grammar.page_of_all_in_notes.finditer(text)):
        return None, "pages"
    cuts = (m for m in grammar.shown_in_notes.finditer(text) if number_in(m[1]) == rows)
    for found in (*cuts, *grammar.part_in_notes.finditer(text)):
        if not _NO.search(text[: found.start()]) and not _NO.search(found[0]):
            return None, "has-more"
    return None


def _numbers(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    for found in pattern.finditer(text):
        yield number_in(next(filter(None, found.groups())))


def is_mark(text: str) -> bool:
    """Return whether `text` is an ellipsis, bare or in brackets or quotes."""
    return is_ellipsis(text.strip("[](){}\"'_ \t\n"))


def begins_as_mark(text: str) -> bool:
    """Return whether `text`, in the place of a row that is a text, may speak of further rows."""
    return _BEGINS_AS_MARK.match(text) is not None


def texts_beside(output: Json, path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the texts beside the rows at `path`, each with whether it is about the result."""
    for depth in range(len(path)):
        beside = at(output, path[:depth])
        for key, value in beside.items() if isinstance(beside, dict) else ():
            name = folded(key)
            is_note = name in names.NOTES
            if isinstance(value, str) and name in names.PAGES:
                yield f"page {value}", True
            elif isinstance(value, str):
                yield value, is_note
            elif isinstance(value, list) and is_note and len(value) <= _MOST_NOTES:
                yield from ((each, True) for each in value if isinstance(each, str))
            elif isinstance(value, dict) and (is_note or name in names.ABOUT_PAGES):
                inner = value.items()
                yield from ((v, folded(k) in names.NOTES) for k, v in inner if isinstance(v, str))
