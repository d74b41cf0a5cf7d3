"""Evidence for claims: the values of rows and the figures of the analysis, each with its place.

It comes from the whole outputs of the steps of the answer, not only from the rows that are shown.
Outputs of other steps are not evidence: among thousands of rows any number would be found.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from toolplan.answer import Answer
from toolplan.answer.sections import Section
from toolplan.events import Run, StepState
from toolplan.path import Json
from toolplan.plan import Literal, Plan, Value, escape_pointer
from toolplan.summary.numbers import Figure, figures
from toolplan.summary.spans import blanked, dates, identities, years

_LONGEST_TEXT: Final = 4_000  # characters of a text that are evidence
_MOST_COUNTS: Final = 64
_RATIO_WORDS: Final = frozenset((
    "rate", "rates", "ratio", "share", "shares", "percent", "percentage", "pct", "proportion",
    "fraction", "probability",
))  # fmt: skip
_PARTS = re.compile(r"[^\w]+|_+")
_EPSILON: Final = 1e-12

_Path: TypeAlias = tuple[str | int, ...]


class Origin(StrEnum):
    """Where a claim was found."""

    ROWS = "rows"
    ANALYSIS = "analysis"
    PLAN = "plan"
    QUESTION = "question"


class Place(NamedTuple):
    """Where a claim was found: `pointer` is a JSON Pointer into the output of `step`."""

    origin: Origin
    step: str = ""
    pointer: str = ""


class Evidence(Struct, dict=True):
    """Everything that a text may contain, by value; see `evidence_of`.

    `texts` are whole values, folded. Shares are in percent.
    """

    texts: dict[str, Place] = field(default_factory=dict[str, Place])
    numbers: dict[float, Place] = field(default_factory=dict[float, Place])
    shares: dict[float, Place] = field(default_factory=dict[float, Place])
    question: str = ""
    longest_list: int = 0

    @cached_property
    def sorted_numbers(self) -> list[float]:
        """The numbers in order, as of the first use."""
        return sorted(self.numbers)

    @cached_property
    def sorted_shares(self) -> list[float]:
        """The shares in order."""
        return sorted(self.shares)

    @cached_property
    def all_text(self) -> str:
        """All texts, a line each, with a line break at both ends."""
        return "\n" + "\n".join(self.texts) + "\n"

    def number(self, value: float, tolerance: float) -> Place | None:
        """Return the place of a number within `tolerance` of `value`."""
        return _near(self.sorted_numbers, self.numbers, value, tolerance)

    def share(self, percent: float, tolerance: float) -> Place | None:
        """Return the place of a share within `tolerance` of `percent`."""
        return _near(self.sorted_shares, self.shares, percent, tolerance)

    def phrase(self, folded: str) -> Place | None:
        """Return the place of `folded` as whole words in one value."""
        whole = self.texts.get(folded)
        if whole is not None:
            return whole
        at = -1
        while (at := self.all_text.find(folded, at + 1)) >= 0:
            before, behind = self.all_text[at - 1], self.all_text[at + len(folded)]
            if not before.isalnum() and not behind.isalnum():
                start = self.all_text.rfind("\n", 0, at) + 1
                return self.texts[self.all_text[start : self.all_text.find("\n", at)]]
        return None


def evidence_of(
    answer: Answer, run: Run, *, question: str = "", plan: Plan | None = None
) -> Evidence:
    """Return the evidence for a text on `answer`.

    Args:
        answer: the computed analysis, with its counts, figures and the shares of its counts.
        run: the run, with the rows.
        question: the question, whose identities and years may be repeated.
        plan: the plan, whose literal identities and dates may be repeated.
    """
    found = Evidence(question=question)
    # a section may be about several steps
    results = {name for section in answer.sections for name in section.step.split(", ")}
    for name, step in run.steps.items():
        if name in results and step.state is StepState.SUCCEEDED:
            _walk(found, step.output, name, (), "")
    for section in answer.sections:
        _add_section(found, section)
    for text in (answer.headline, *answer.on_the_way, *(each.text for each in answer.problems)):
        _add_sentence(found, text, Place(Origin.ANALYSIS))
    if plan is not None:
        _add_plan(found, plan)
    _add_repeatable(found, question, Place(Origin.QUESTION))
    return found


def folded(text: str) -> str:
    """Return `text` for comparison: case-folded words with single spaces.

    >>> folded("Anna-Lena  book_title")
    'anna lena book title'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(part for part in _PARTS.split(text.casefold()) if part)


def _near(
    ordered: Sequence[float], places: Mapping[float, Place], value: float, tolerance: float
) -> Place | None:
    if not math.isfinite(value):
        return None
    reach = tolerance + _EPSILON * abs(value)
    at = bisect_left(ordered, value - reach)
    if at < len(ordered) and ordered[at] <= value + reach:
        return places[ordered[at]]
    return None


def _walk(found: Evidence, value: Json, step: str, path: _Path, name: str) -> None:
    """Add all values of an output; `name` is the field of `value`."""
    match value:
        case dict():
            for key, inner in value.items():
                _walk(found, inner, step, (*path, key), key)
        case list():
            found.longest_list = max(found.longest_list, len(value))
            for at, inner in enumerate(value):
                _walk(found, inner, step, (*path, at), name)
        case str():
            _add_text(found, value, step, path)
        case bool() | None:
            pass
        case int() | float():
            _add_number(found, value, step, path, name)


def _add_number(found: Evidence, value: float, step: str, path: _Path, name: str) -> None:
    number = _finite(value)
    if number is None:
        return
    is_ratio = not _RATIO_WORDS.isdisjoint(folded(name).split()) or "%" in name
    as_fraction = 100 * number if 0 < number < 1 or (is_ratio and 0 <= number <= 1) else None
    if number not in found.numbers:
        found.numbers[number] = Place(Origin.ROWS, step, _pointer(path))
    if as_fraction is not None:
        found.shares.setdefault(as_fraction, found.numbers[number])
    if is_ratio:
        found.shares.setdefault(number, found.numbers[number])


def _add_text(found: Evidence, value: str, step: str, path: _Path) -> None:
    text = value[:_LONGEST_TEXT]
    key = folded(text)
    if not key or key in found.texts:
        return
    place = Place(Origin.ROWS, step, _pointer(path))
    found.texts[key] = place
    if any(char.isdigit() for char in text):
        _add_figures(found, text, place)


def _add_figures(found: Evidence, text: str, place: Place) -> None:
    for year in years(text):
        found.numbers.setdefault(float(year), place)
    for each in _numbers_in(text):
        found.numbers.setdefault(each.value, place)
        if each.share:
            found.shares.setdefault(each.value, place)


def _numbers_in(text: str) -> Iterator[Figure]:
    """Return the numbers of a text outside of dates and identities."""
    text = blanked(text, (*dates(text), *identities(text)))
    return (each for each in figures(text) if math.isfinite(each.value))


def _add_section(found: Evidence, section: Section) -> None:
    place = Place(Origin.ANALYSIS, section.step)
    sentences = [section.summary, *(insight.text for insight in section.insights)]
    for text in sentences:
        _add_sentence(found, text, place)
    found.numbers.setdefault(float(section.total), place)
    found.longest_list = max(found.longest_list, section.total)
    # sentences with shares, and those of callers (without columns), count rows
    counting = [
        insight.text for insight in section.insights if "%" in insight.text or not insight.columns
    ]
    _add_parts(found, section.total, _counts(counting), place)
    if len(section.shown) == section.total:
        for name in section.columns:
            values = [_finite(row.get(name)) for row in section.shown]
            counts = [v for v in values if v is not None and v >= 0 and v == int(v)]
            if len(counts) == len(values):
                _add_parts(found, sum(counts), counts, place)


def _counts(sentences: Iterable[str]) -> list[float]:
    found = (each for text in sentences for each in _numbers_in(text) if not each.share)
    return [each.value for each in found if each.value >= 0 and each.value == int(each.value)]


def _add_parts(found: Evidence, total: float, counts: Sequence[float], place: Place) -> None:
    """Add the shares of counts in their total."""
    if total <= 0:
        return
    for count in counts[:_MOST_COUNTS]:
        if count <= total:
            found.shares.setdefault(100 * count / total, place)


def _add_sentence(found: Evidence, text: str, place: Place) -> None:
    _add_figures(found, text, place)
    for each in _numbers_in(text):
        if each.value < 0:
            found.numbers.setdefault(-each.value, place)  # "falling by 12": the sentence has -12
    found.texts.setdefault(folded(text), place)


def _add_repeatable(found: Evidence, text: str, place: Place) -> None:
    """Add the years and identities of a text whose numbers are no results."""
    for year in years(text):
        found.numbers.setdefault(float(year), place)
    for start, end in identities(text):
        found.texts.setdefault(folded(text[start:end]), place)


def _add_plan(found: Evidence, plan: Plan) -> None:
    for step in plan.steps:
        for name, value in step.args.items():
            for text in _literal_texts(value):
                _add_repeatable(found, text, Place(Origin.PLAN, step.id, _pointer(("args", name))))


def _literal_texts(value: Value) -> Iterator[str]:
    match value:
        case Literal(value=str(text)):
            yield text
        case Literal(value=list(items)):
            yield from (item for item in items if isinstance(item, str))
        case _:
            return


def _finite(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _pointer(path: _Path) -> str:
    return "".join(f"/{escape_pointer(str(key))}" for key in path)
