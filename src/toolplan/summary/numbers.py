"""Numbers in text: digits with separators, scales, percentages, words.

A number has the precision of its spelling: `36.2` is 36.15 to 36.25, `1.2k` is 1,150 to 1,250.
Numbers in words are read from two; *one* is mostly a pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_GAP: Final = "\u00a0\u202f\u2009'’"
_MOST_DIGITS: Final = 300  # more are not finite

_NUMBER = re.compile(
    rf"""
    (?P<sign>(?:(?<![\w.,)\]])[-+\u2212])|\b(?:minus|negative)[ ])?
    (?P<currency>[$€£¥])?
    (?<![\d.,])
    (?P<digits>
        \d{{1,3}}(?:\.\d{{3}})+,\d+
      | \d{{1,3}}(?:\.\d{{3}}){{2,}}(?![\d,])
      | \d{{1,3}}(?:[,{_GAP}]\d{{3}})+(?!\d)(?:\.\d+)?
      | \d{{1,3}}(?:[ ]\d{{3}})+(?![\d])(?:\.\d+)?
      | \d+(?:\.\d+)?
      | \.\d+
    )
    (?P<power>[eE][+-]?\d+)?
    (?P<scale>[kKMB](?!\w)|(?<=\d)m(?!\w)|[ ]?(?:thousand|million|billion|trillion|mn|bn)\b)?
    (?P<share>[ {_GAP}]?[%％]|[ ](?:percent|per[ ]cent|pct|percentage[ ]points?)\b)?
    (?P<nth>(?:st|nd|rd|th)\b)?
    """,
    re.VERBOSE,
)
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
_RANGE = re.compile(r"\s*(?:-|–|—|to|and|or|,)\s*")

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENTHS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES: Final = {word: value for value, word in enumerate(_UP_TO_NINETEEN.split())}
_TENS: Final = {word: 10 * value for value, word in enumerate(_TENTHS.split(), start=2)}
_LARGE: Final = {"hundred": 100, "dozen": 12, "thousand": 1_000, "million": 1_000_000}
_NTHS: Final = {
    "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10,
}  # fmt: skip
_WORD = "|".join(sorted((*_ONES, *_TENS, *_LARGE), key=len, reverse=True))
_WORDS = re.compile(rf"\b(?:{_WORD})(?:(?:[- ]|[ ]and[ ])(?:{_WORD}))*\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\ba[ ]$", re.IGNORECASE)
_SHARE_BEHIND = re.compile(r"[ ](?:percent|per cent|pct)\b", re.IGNORECASE)
_FRACTION = re.compile(
    r"\b(?:(?P<count>a|an|one|two|three|four)[- ](?P<part>third|quarter|fifth|tenth)s?"
    r"|(?P<half>half))(?= of | the )",
    re.IGNORECASE,
)
_PARTS: Final = {"third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_FRACTION_TOLERANCE: Final = 2.5  # percentage points: 38 % is not "a third"


class Figure(Struct, frozen=True):
    """A number at `start` to `end` of a text.

    It is exact within `tolerance`. A `share` is in percent, an `nth` is an ordinal. `either` means
    that it may be a share, because it begins a range that ends with one.
    """

    start: int
    end: int
    value: float
    tolerance: float
    share: bool = False
    nth: bool = False
    either: bool = False


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers of `text`, in order.

    >>> [(f.value, f.share) for f in figures("1,234.5 kg, 1.2k rows, 37 % of twenty")]
    [(1234.5, False), (1200.0, False), (37.0, True), (20.0, False)]
    """
    found = [*_in_digits(text), *_in_words(text), *_in_parts(text)]
    found.sort(key=lambda each: (each.start, -each.end))
    kept: list[Figure] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return tuple(_in_ranges(text, kept))


def split_at_spaces(text: str, figure: Figure) -> tuple[Figure, ...]:
    """Return the numbers of `figure` if its spaces separate numbers, not thousands."""
    said = text[figure.start : figure.end]
    if not re.search(r"\d \d", said):
        return ()
    pieces = [match.span() for match in re.finditer(r"\S+", said)]
    inner = [figures(said[start:end]) for start, end in pieces]
    return tuple(
        replace(each, start=figure.start + start + each.start, end=figure.start + start + each.end)
        for (start, _), one in zip(pieces, inner, strict=True)
        for each in one
    )


def _in_digits(text: str) -> Iterator[Figure]:
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        start = match.start()
        # after a letter it is a part of a name: CO2
        if (
            match["sign"] is None
            and start
            and (text[start - 1].isalpha() or text[start - 1] == "_")
        ):
            continue
        plain, decimals = _plain(digits)
        if len(plain) > _MOST_DIGITS or len(match["power"] or "") > 5:
            yield Figure(start, match.end(), float("inf"), 0.0)
            continue
        scale, end = _scale(match)
        unit = scale * 10.0 ** int((match["power"] or "e0")[1:])
        value = float(plain) * unit
        tolerance = 0.5 * 10.0**-decimals * unit
        if _HEDGE.search(text[max(0, start - 24) : start]):
            tolerance = max(tolerance, _loose(plain, value, unit))
        sign = -1 if (match["sign"] or "+").strip() in ("-", "\u2212", "minus", "negative") else 1
        share = match["share"] is not None and end == match.end()
        yield Figure(start, end, sign * value, tolerance, share=share, nth=match["nth"] is not None)


def _plain(digits: str) -> tuple[str, int]:
    """Return `digits` in Python syntax, and the number of decimals."""
    if re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    plain = re.sub(rf"[,{_GAP} ]", "", digits)
    return plain, len(plain.partition(".")[2])


def _scale(match: re.Match[str]) -> tuple[float, int]:
    """Return the factor after the digits, and the end of the number."""
    said = match["scale"]
    if said is None or (said == "m" and match["currency"] is None):
        # 5m is five metres or minutes, except for money
        return 1.0, match.end() if said is None else match.start("scale")
    return _SCALES[said.strip().casefold()], match.end()


def _loose(plain: str, value: float, unit: float) -> float:
    """Return the tolerance of "about 1,200": half of its last digit that is not zero."""
    whole = plain.partition(".")[0]
    zeros = len(whole) - len(whole.rstrip("0")) if "." not in plain else 0
    return min(0.5 * 10.0**zeros * unit, _HEDGED * abs(value))


def _in_words(text: str) -> Iterator[Figure]:
    for match in _WORDS.finditer(text):
        words = [word for word in re.split(r"[- ]+", match[0].casefold()) if word != "and"]
        if words in (["one"], ["zero"]):
            continue
        loosely = words[0] in _LARGE
        if loosely:
            if not _ARTICLE.search(text[: match.start()]):
                continue  # "several hundred" is not a number
            words = ["one", *words]
        value = _value(words)
        behind = _SHARE_BEHIND.match(text, match.end())
        end = match.end() if behind is None else behind.end()
        loose = _HEDGED * value if loosely else 0.5
        yield Figure(match.start(), end, float(value), loose, share=behind is not None)
    for word, value in _NTHS.items():
        # "a second" and "one third" are not ordinals
        for match in re.finditer(rf"\b{word}\b(?=[- ](?:\w+est|most|place|highest)\b)", text, re.I):
            yield Figure(match.start(), match.end(), float(value), 0.0, nth=True)


def _value(words: list[str]) -> int:
    total, part = 0, 0
    for word in words:
        if word in _ONES:
            part += _ONES[word]
        elif word in _TENS:
            part += _TENS[word]
        elif _LARGE[word] < 1_000:
            part = max(part, 1) * _LARGE[word]
        else:
            total += max(part, 1) * _LARGE[word]
            part = 0
    return total + part


def _in_parts(text: str) -> Iterator[Figure]:
    for match in _FRACTION.finditer(text):
        if match["half"] is not None:
            before = text[: match.start()].rstrip().rpartition(" ")[2].casefold()
            if before in ("first", "second", "last", "and"):
                continue
            share = 50.0
        else:
            share = 100.0 * _COUNTS[match["count"].casefold()] / _PARTS[match["part"].casefold()]
        yield Figure(match.start(), match.end(), share, _FRACTION_TOLERANCE, share=True)


def _in_ranges(text: str, found: list[Figure]) -> Iterator[Figure]:
    """Yield `found`; the start of a range that ends with a share may be a share: 30 to 40 %."""
    for at, each in enumerate(found):
        following = found[at + 1] if at + 1 < len(found) else None
        if following is not None and following.share and not each.share:
            between = text[each.end : following.start]
            yield replace(each, either=_RANGE.fullmatch(between) is not None)
        else:
            yield each
