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
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from toolplan.events import Run, StepState
from toolplan.plan.path import Json
from toolplan.show.answer import Answer
from toolplan.show.answer.sections import Section
from toolplan.show.summary.figures import Figure, Span, figures, identities, years

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


def _leaves(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the texts, numbers and constants of an output, each with the name of its field."""
    left: list[tuple[str, Json]] = [(name, value)]
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
