"""Parts of a text that have digits and are no numbers: dates, times of day, and identities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
"""Start and end in a text."""

_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:19|20)\d{2}"
_CLOCK: Final = r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_DATE = re.compile(
    rf"(?<!\d)\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?(?!\d)"
    r"|(?<!\d)\d{4}/\d{1,2}/\d{1,2}(?!\d)"
    r"|(?<!\d)\d{1,2}(?:\.[ ]?\d{1,2}\.[ ]?|/\d{1,2}/)\d{4}(?!\d)"
    rf"|(?<!\d){_DAY}\.?[ ](?:of[ ])?{_MONTH}(?:,?[ ]{_YEAR}\b)?"
    rf"|\b{_MONTH}[ ]{_DAY}\b(?![.,]?\d)(?:,?[ ]{_YEAR}\b)?"
    rf"|\b{_MONTH},?[ ](?:of[ ])?{_YEAR}\b"
    rf"|(?<!\d){_YEAR}(?:-(?:0[1-9]|1[0-2])|[ /-]?Q[1-4])(?![\d-])"
    rf"|\b(?:Q[1-4]|H[12])(?:[ /-]?{_YEAR})?\b"
    rf"|\b(?:in|since|during|until|before|after|from|of|year)[ ]{_YEAR}\b(?!\.?\d|[ ]?%)"
    rf"|(?<![\d:.]){_CLOCK}(?![\d:])",
    re.IGNORECASE,
)
_YEARS = re.compile(rf"(?<!\d){_YEAR}(?!\d)")

_TOKEN = re.compile(r"[A-Za-z\d_]+(?:[-.@/:][A-Za-z\d_]+)*")
_MEASURE = re.compile(
    r"\d[\d.,]*[eE][-+]?\d+|\d[\d.,]*(?:k|K|M|B|st|nd|rd|th|s|x|[a-zA-Z]{1,3}|[a-z]{4,})"
    r"|\d[\d.,]*(?:-[a-z]+)+|[a-z]+-\d+(?:-[a-z]+)*|\d[\d.,/:-]*"
)
_BLANK: Final = "\ufffc"


def dates(text: str) -> tuple[Span, ...]:
    """Return where `text` has dates, months with a day or year, years, quarters and times of day.

    >>> text = "12 Oct 2025, 2025-10-12T08:00Z, Q3 2025 at 8:30"
    >>> [text[start:end] for start, end in dates(text)]
    ['12 Oct 2025', '2025-10-12T08:00Z', 'Q3 2025', '8:30']
    """
    return tuple(match.span() for match in _DATE.finditer(text))


def years(text: str) -> tuple[int, ...]:
    """Return the years in the dates of `text`."""
    spans = dates(text)
    return tuple(
        int(match[0]) for start, end in spans for match in _YEARS.finditer(text[start:end])
    )


def identities(text: str) -> tuple[Span, ...]:
    """Return where `text` has tokens of letters and digits, except numbers with units.

    >>> text = "B2025-001 weighs 37kg"
    >>> [text[start:end] for start, end in identities(text)]
    ['B2025-001']
    """
    spans = dates(text)
    found: list[Span] = []
    for match in _TOKEN.finditer(text):
        mixed = re.search(r"[A-Za-z]", match[0]) and re.search(r"\d", match[0])
        dated = any(start <= match.start() < end for start, end in spans)
        if mixed and not dated and not _MEASURE.fullmatch(match[0]):
            found.append(match.span())
    return tuple(found)


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Return `text` with `spans` blanked, at the same length."""
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text
