"""Numbers, dates and identities in text.

A number has the precision of its spelling: `36.2` is 36.15 to 36.25, `1.2k` is 1,150 to 1,250.
Numbers in words are read from two; *one* is mostly a pronoun. Dates, times of day and identities
(`S1-001`) have digits and are no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

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

_SPACE: Final = "\u00a0\u202f\u2009'’"  # between thousands
_NUMBER = re.compile(
    rf"""
    (?P<sign>(?:(?<![\w.,)\]])[-+\u2212])|\b(?:minus|negative)[ ])?
    (?P<currency>[$€£¥])?
    (?<![\d.,])
    (?P<digits>\d{{1,3}}(?:[,{_SPACE} ]\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    (?P<power>[eE][+-]?\d+)?
    (?P<ordinal>(?:st|nd|rd|th)\b)?
    (?P<scale>[kKMB](?!\w)|(?<=\d)m(?!\w)|[ ]?(?:thousand|million|billion|trillion|mn|bn)\b)?
    (?P<share>[ {_SPACE}]?[%％]|[ ](?:percent|per[ ]cent|pct|percentage[ ]points?)\b)?
    """,
    re.VERBOSE,
)
_MOST_DIGITS: Final = 300  # more are not finite
_SCALES: Final = {
    "k": 1e3, "m": 1e6, "b": 1e9, "thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9,
    "bn": 1e9, "trillion": 1e12,
}  # fmt: skip
_HEDGE = re.compile(
    r"(?:~|≈|\b(?:about|around|roughly|nearly|almost|approximately|approx\.?|some|circa|over"
    r"|under|close to|just over|just under|more than|less than|well over))\s*[$€£¥]?$",
    re.IGNORECASE,
)
_HEDGED: Final = 0.05  # "about" allows at most five percent
_UP_TO_SHARE = re.compile(r"\s*(?:-|–|—|to|and|or|,)\s*\d[\d.,]*\s?(?:%|percent\b|per cent\b)")

_UP_TO_NINETEEN: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_LARGE: Final = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000}
_VALUES: Final = {
    **{word: value for value, word in enumerate(_UP_TO_NINETEEN.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), start=2)},
    **_LARGE,
    "a": 1,
}
_WORD: Final = "|".join(sorted(_VALUES, key=len, reverse=True))
_WORDS = re.compile(
    rf"\b(?P<words>(?:{_WORD})(?:(?:[- ]|[ ]and[ ])(?:{_WORD}))*)\b"
    r"(?P<share>[ ](?:percent|per cent|pct)\b)?",
    re.IGNORECASE,
)


class Figure(Struct, frozen=True):
    """A number at `span` of a text, exact within `tolerance`.

    A `share` is in percent. `either` means that it may be one, as it begins a range that ends with
    a share.
    """

    span: Span
    value: float
    tolerance: float
    share: bool = False
    either: bool = False


def dates(text: str) -> tuple[Span, ...]:
    """Return where `text` has dates, months with a day or year, years, quarters and times of day.

    >>> text = "12 Oct 2025, 2025-10-12T08:00Z, Q3 2025 at 8:30"
    >>> [text[start:end] for start, end in dates(text)]
    ['12 Oct 2025', '2025-10-12T08:00Z', 'Q3 2025', '8:30']
    """
    return tuple(match.span() for match in _DATE.finditer(text))


def years(text: str) -> Iterator[int]:
    """Yield the years in the dates of `text`."""
    for start, end in dates(text):
        yield from map(int, _YEARS.findall(text, start, end))


def identities(text: str) -> tuple[Span, ...]:
    """Return where `text` has tokens of letters and digits, except numbers with units.

    >>> text = "B2025-001 weighs 37kg"
    >>> [text[start:end] for start, end in identities(text)]
    ['B2025-001']
    """
    return tuple(
        match.span()
        for match in _TOKEN.finditer(_blanked(text, dates(text)))
        if re.search(r"[A-Za-z]", match[0])
        and re.search(r"\d", match[0])
        and not _MEASURE.fullmatch(match[0])
    )


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers of `text` outside of dates and identities, in order.

    >>> [(f.value, f.share) for f in figures("S1-001: 1,234.5 kg, 1.2k rows, 37 % of twenty")]
    [(1234.5, False), (1200.0, False), (37.0, True), (20.0, False)]
    """
    text = _blanked(text, (*dates(text), *identities(text)))
    found = [*_in_digits(text), *_in_words(text)]
    found.sort(key=lambda each: (each.span[0], -each.span[1]))
    kept: list[Figure] = []
    for each in found:
        if not kept or each.span[0] >= kept[-1].span[1]:
            kept.append(each)
    return tuple(kept)


def _blanked(text: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text


def _in_digits(text: str) -> Iterator[Figure]:
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        is_name = match["sign"] is None and start and re.match(r"[^\W\d]", text[start - 1])
        if match["ordinal"] or is_name:  # a place or a part of a name: 3rd, CO2
            continue
        share = match["share"] is not None
        scale = (match["scale"] or "").strip().casefold()
        if match["scale"] == "m" and match["currency"] is None:
            # 5m is five metres or minutes, except for money
            scale, end, share = "", match.start("scale"), False
        digits = re.sub(rf"[,{_SPACE} ]", "", match["digits"])
        if len(digits) > _MOST_DIGITS or len(match["power"] or "") > 5:
            yield Figure((start, end), float("inf"), 0.0)
            continue
        unit = _SCALES.get(scale, 1.0) * 10.0 ** int((match["power"] or "e0")[1:])
        value = float(digits) * unit
        whole, _, decimals = digits.partition(".")
        tolerance = 0.5 * 10.0 ** -len(decimals) * unit
        if _HEDGE.search(text, max(0, start - 24), start):
            # half of the last digit that is not zero: "about 1,200" is 1,150 to 1,250
            zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
            tolerance = max(tolerance, min(0.5 * 10.0**zeros * unit, _HEDGED * value))
        sign = -1 if (match["sign"] or "").strip() in ("-", "\u2212", "minus", "negative") else 1
        either = not share and _UP_TO_SHARE.match(text, end) is not None
        yield Figure((start, end), sign * value, tolerance, share, either)


def _in_words(text: str) -> Iterator[Figure]:
    for match in _WORDS.finditer(text):
        words = [each for each in re.split(r"[- ]+", match["words"].casefold()) if each != "and"]
        if words[0] in _LARGE or words in (["a"], ["one"], ["zero"]):
            continue  # "several hundred" and "one of them" are not numbers
        total, part = 0, 0
        for word in words:
            if word not in _LARGE:
                part += _VALUES[word]
            elif _LARGE[word] < 1_000:
                part = max(part, 1) * _LARGE[word]
            else:
                total, part = total + max(part, 1) * _LARGE[word], 0
        value = float(total + part)
        tolerance = _HEDGED * value if words[0] == "a" else 0.5
        yield Figure(match.span(), value, tolerance, match["share"] is not None)
