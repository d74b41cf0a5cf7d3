"""Claims: the numbers, shares and identities of a text, and whether the results have them.

Names and dates are not checked. A claim that is found may still be in a wrong sentence. A claim
that is not found was invented, computed by the writer, or has another source, and must be marked.

- A **number** is found if a number of the rows or of the computed answer rounds to it at its
  precision. A limit of the question may be repeated ("the last 90 days", "top 5").
- A **share** ("37 %") is found if the results have it or its fraction, or if it is the share of a
  count in the total of its column.
- An **identity** ("S1-001") is found if a text of the rows, the answer or the question has it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.events import Run, StepState
from toolplan.plan.path import Json
from toolplan.show.answer import Answer
from toolplan.show.answer.sections import Section

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


_LONGEST_TEXT: Final = 4_000  # characters of a text that are evidence
_RATIO_WORDS: Final = frozenset((
    "rate", "rates", "ratio", "share", "shares", "percent", "percentage", "pct", "proportion",
    "fraction", "probability",
))  # fmt: skip
_LIMIT_WORDS: Final = frozenset((
    "last", "past", "previous", "next", "top", "bottom", "first", "within", "than", "least", "most",
    "above", "below", "over", "under", "limit", "minute", "hour", "day", "week", "month", "quarter",
    "year",
))  # fmt: skip
_WORD_BEFORE = re.compile(r"([a-z]+) ?$", re.IGNORECASE)
_WORD_BEHIND = re.compile(r"[ -]?([a-z]+?)s?\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"^[ \t>*_]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_DIGIT = re.compile(r"\d")
_APART = re.compile(r"\d \d")
_EPSILON: Final = 1e-12


class Claim(Struct, frozen=True):
    """A figure or identity at `span` of a text, and whether the results have it."""

    text: str
    span: Span
    found: bool


class Evidence(Struct, frozen=True):
    """The numbers, shares (in percent), identities and texts of results, and the question."""

    numbers: Sequence[float]
    shares: Sequence[float]
    identities: frozenset[str]
    texts: frozenset[str]
    question: str


def evidence_of(answer: Answer, run: Run, question: str = "") -> Evidence:
    """Return the evidence for a text on `answer`.

    It comes from the whole outputs of the steps of the answer, not only from the rows that are
    shown. Outputs of other steps are not evidence: among thousands of rows any number is found.
    """
    numbers, shares, texts = set[float](), set[float](), set[str]()
    # a section may be about several steps
    for step in {name for section in answer.sections for name in section.step.split(", ")}:
        if step in run.steps and run.steps[step].state is StepState.SUCCEEDED:
            for name, value in _leaves(run.steps[step].output):
                if isinstance(value, str):
                    texts.add(value[:_LONGEST_TEXT])
                elif (number := _finite(value)) is not None:
                    numbers.add(number)
                    shares.update(_as_shares(name, number))
    sentences = [answer.headline, *answer.on_the_way, *(each.text for each in answer.problems)]
    for section in answer.sections:
        numbers.add(float(section.total))
        shares.update(_shares_of_counts(section))
        sentences += (section.summary, *(insight.text for insight in section.insights))
    for text in (*filter(_DIGIT.search, texts), *sentences):
        numbers.update(map(float, years(text)))
        for each in figures(text):
            (shares if each.share else numbers).add(each.value)
    for text in sentences:  # "falling by 12": the sentence has -12
        numbers.update(-each.value for each in figures(text) if each.value < 0)
    numbers.update(map(float, years(question)))
    names = {
        text[start:end].casefold()
        for text in filter(_DIGIT.search, (*texts, *sentences, question))
        for start, end in identities(text)
    }
    return Evidence(
        sorted(filter(math.isfinite, numbers)),
        sorted(filter(math.isfinite, shares)),
        frozenset(names),
        frozenset(texts),
        question,
    )


def check_claims(text: str, evidence: Evidence) -> tuple[Claim, ...]:
    """Return the claims of `text`, in order, looked up in `evidence`."""
    plain = _LIST_MARK.sub(lambda match: " " * len(match[0]), text)
    limits = {
        limit for each in figures(evidence.question) for limit in _limits(evidence.question, each)
    }
    claims = [
        Claim(text[start:end], (start, end), text[start:end].casefold() in evidence.identities)
        for start, end in identities(plain)
    ]
    for each in figures(plain):
        found = _is_found(each, evidence) or not limits.isdisjoint(_limits(plain, each))
        if not found and not each.share and _APART.search(said := plain[slice(*each.span)]):
            # the spaces may stand between numbers, and not between thousands
            parts = [part for piece in said.split() for part in figures(piece)]
            found = bool(parts) and all(_is_found(part, evidence) for part in parts)
        claims.append(Claim(text[slice(*each.span)], each.span, found))
    return tuple(sorted(claims, key=lambda claim: claim.span))


def _leaves(output: Json) -> Iterator[tuple[str, Json]]:
    """Yield the texts, numbers and constants of an output, each with the name of its field."""
    left: list[tuple[str, Json]] = [("", output)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += value.items()
        elif isinstance(value, list):
            left += ((name, inner) for inner in value)
        else:
            yield name, value


def _finite(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _as_shares(name: str, number: float) -> Iterator[float]:
    """Yield a number of the field `name` in percent, where it may be a share."""
    is_ratio = "%" in name or not _RATIO_WORDS.isdisjoint(re.split(r"[\W_]+", name.casefold()))
    if 0 < number < 1 or (is_ratio and 0 <= number <= 1):
        yield 100 * number
    if is_ratio:
        yield number


def _shares_of_counts(section: Section) -> Iterator[float]:
    """Yield the share of each count in the total of its column, where all rows are shown."""
    if len(section.shown) < section.total:
        return
    for name in section.columns:
        values = [_finite(row.get(name)) for row in section.shown]
        counts = [each for each in values if each is not None and each >= 0 and each == int(each)]
        if len(counts) == len(values) and (total := sum(counts)):
            yield from (100 * count / total for count in counts)


def _limits(text: str, figure: Figure) -> Iterator[tuple[float, bool, str]]:
    """Yield `figure` with the words beside it that make it a limit: last 5, 90 days."""
    start, end = figure.span
    before = _WORD_BEFORE.search(text, max(0, start - 20), start)
    for match in (before, _WORD_BEHIND.match(text, end)):
        if match is not None and match[1].casefold() in _LIMIT_WORDS:
            yield figure.value, figure.share, match[1].casefold()


def _is_found(figure: Figure, evidence: Evidence) -> bool:
    if not math.isfinite(figure.value):
        return False
    reach = figure.tolerance + _EPSILON * abs(figure.value)
    looked_up = [] if figure.share else [evidence.numbers]
    looked_up += [evidence.shares] if figure.share or figure.either else []
    for known in looked_up:
        at = bisect_left(known, figure.value - reach)
        if at < len(known) and known[at] <= figure.value + reach:
            return True
    return False
