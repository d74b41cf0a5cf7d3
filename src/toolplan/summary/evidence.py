"""Evidence for claims: the values of rows, the figures of the analysis, names; each with its place.

It comes from the whole outputs of the steps of the answer, not only from the rows that are shown.
Outputs of other steps are not evidence: among thousands of rows any number would be found.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from toolplan.answer import Answer
from toolplan.answer.sections import Section
from toolplan.events import Run, StepState
from toolplan.path import Json
from toolplan.plan import Literal, Plan, Value
from toolplan.summary.dates import Moment, moments
from toolplan.summary.names import codes
from toolplan.summary.numbers import Figure, figures
from toolplan.summary.words import word_set

_LONGEST_TEXT: Final = 4_000  # characters of a text that are evidence
_MOST_COUNTS: Final = 64
_RATIO_WORDS: Final = word_set(
    "rate rates ratio share shares percent percentage pct proportion fraction probability"
)
_PARTS = re.compile(r"[^\w]+|_+")
_CODE = re.compile(r"(?![QH][1-4])[A-Za-z][A-Za-z_]*[-.]?\d[\w.-]*", re.ASCII)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_EPSILON: Final = 1e-12
_BLANK: Final = "\ufffc"

_Path: TypeAlias = tuple[str | int, ...]


class Origin(StrEnum):
    """Where a claim was found."""

    ROWS = "rows"
    ANALYSIS = "analysis"
    NAMES = "names"
    """names of tools, fields and sections"""
    PLAN = "plan"
    QUESTION = "question"


class Place(NamedTuple):
    """Where a claim was found: `pointer` is a JSON Pointer into the output of `step`."""

    origin: Origin
    step: str = ""
    pointer: str = ""


class Evidence(Struct, dict=True):
    """Everything that a text may contain, by value; see `evidence_of`.

    `texts` are whole values, folded; `words` are names of fields, tools and sections, and the words
    of the question. Shares are in percent.
    """

    texts: dict[str, Place] = field(default_factory=dict[str, Place])
    words: dict[str, Place] = field(default_factory=dict[str, Place])
    numbers: dict[float, Place] = field(default_factory=dict[float, Place])
    shares: dict[float, Place] = field(default_factory=dict[float, Place])
    days: dict[date, Place] = field(default_factory=dict[date, Place])
    months: dict[tuple[int | None, int], Place] = field(
        default_factory=dict[tuple[int | None, int], Place]
    )
    years: dict[int, Place] = field(default_factory=dict[int, Place])
    times: dict[str, Place] = field(default_factory=dict[str, Place])
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
        whole = self.texts.get(folded) or self.words.get(folded)
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
        question: the question, whose names and dates may be repeated.
        plan: the plan, whose tools and literal dates may be repeated.
    """
    found = Evidence(question=question)
    # a section may be about several steps
    results = {name for section in answer.sections for name in section.step.split(", ")}
    for name, step in run.steps.items():
        _keep_word(found, name, Place(Origin.NAMES, name))
        if name in results and step.state is StepState.SUCCEEDED:
            _walk(found, step.output, name, (), "")
    for section in answer.sections:
        _add_section(found, section)
    for text in (answer.headline, *answer.on_the_way, *(each.text for each in answer.problems)):
        _add_sentence(found, text, Place(Origin.ANALYSIS))
    if plan is not None:
        _add_plan(found, plan)
    asked = Place(Origin.QUESTION)
    for word in folded(question).split():
        found.words.setdefault(word, asked)
    _add_moments(found, question, asked)
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
                if key not in found.words:
                    _keep_word(found, key, Place(Origin.NAMES, step, _pointer((*path, key))))
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
    if not any(char.isdigit() for char in text) or _CODE.fullmatch(text):
        return
    _add_moments(found, text, place)
    for each in _numbers_in(text):
        found.numbers.setdefault(each.value, place)
        if each.share:
            found.shares.setdefault(each.value, place)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` with `spans` blanked, at the same length."""
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text


def _numbers_in(text: str) -> Iterator[Figure]:
    """Return the numbers of a text outside of dates and identities."""
    text = blanked(text, ((each.start, each.end) for each in codes(text)))
    text = blanked(text, ((each.start, each.end) for each in moments(text)))
    return (each for each in figures(text) if math.isfinite(each.value))


def _add_section(found: Evidence, section: Section) -> None:
    place = Place(Origin.ANALYSIS, section.step)
    _keep_word(found, section.title, Place(Origin.NAMES, section.step))
    for name in (*section.columns, *section.hidden):
        _keep_word(found, name, Place(Origin.NAMES, section.step))
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
    _add_moments(found, text, place)
    for each in _numbers_in(text):
        found.numbers.setdefault(each.value, place)
        if each.value < 0:
            found.numbers.setdefault(-each.value, place)  # "falling by 12": the sentence has -12
        if each.share:
            found.shares.setdefault(each.value, place)
    found.texts.setdefault(folded(text), place)


def _add_moments(found: Evidence, text: str, place: Place) -> None:
    for each in moments(text):
        _add_moment(found, each, place)


def _add_moment(found: Evidence, moment: Moment, place: Place) -> None:
    if moment.time:
        for match in _CLOCK.finditer(moment.time):
            found.times.setdefault(match[0].zfill(5), place)
            found.times.setdefault(match[0].zfill(5)[:5], place)
    if moment.year is not None:
        found.years.setdefault(moment.year, place)
    for month in moment.months:
        found.months.setdefault((moment.year, month), place)
        found.months.setdefault((None, month), place)
    if moment.year is not None and moment.day is not None and len(moment.months) == 1:
        try:
            day = date(moment.year, moment.months[0], moment.day)
        except ValueError:
            return  # the data may have a 31st of September
        found.days.setdefault(day, place)


def _add_plan(found: Evidence, plan: Plan) -> None:
    for step in plan.steps:
        _keep_word(found, step.tool, Place(Origin.NAMES, step.id))
        for name, value in step.args.items():
            _keep_word(found, name, Place(Origin.NAMES, step.id))
            for text in _literal_texts(value):
                place = Place(Origin.PLAN, step.id, _pointer(("args", name)))
                if not any(char.isspace() for char in text.strip()):
                    _add_moments(found, text, place)
                    found.texts.setdefault(folded(text), place)


def _literal_texts(value: Value) -> Iterator[str]:
    match value:
        case Literal(value=str(text)):
            yield text
        case Literal(value=list(items)):
            yield from (item for item in items if isinstance(item, str))
        case _:
            return


def _keep_word(found: Evidence, name: str, place: Place) -> None:
    """Add a name, as a whole and by its words."""
    found.words.setdefault(name, place)
    key = folded(name)
    found.words.setdefault(key, place)
    for word in key.split():
        found.words.setdefault(word, place)


def _finite(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _pointer(path: _Path) -> str:
    tokens = (str(key).replace("~", "~0").replace("/", "~1") for key in path)
    return "".join(f"/{token}" for token in tokens)
