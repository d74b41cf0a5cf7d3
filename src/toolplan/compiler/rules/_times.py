"""Times in the words of the question, as values of arguments that are dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from toolplan.dates import DateRange, Times
from toolplan.schema import Schema, at

_BESIDE: Final = re.compile(r"(?:(?:in|on|during|for|of|the)\s+)*(.*?)[.?!]?")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEM: Final = r"(?:(?P<stem>.+)_)?"
_DATE: Final = r"(?:_(?:date|day|on))?"
_SIDES: Final = (
    re.compile(rf"{_STEM}(?:from|start|begin|earliest|min){_DATE}|since"),
    re.compile(rf"{_STEM}(?:to|end|until|latest|max){_DATE}"),
)
"""Names of arguments whose day is the first or the last one that counts."""
_UNCLEAR: Final = re.compile(r"(?:.+_)?(?:after|before|gt|lt)|.+_(?:since|until)")
"""Names of arguments of which it is not known whether their own day counts."""


class Days(NamedTuple):
    """What was `said`, and its days for the arguments that take them; none with a `problem`."""

    said: str
    values: Mapping[str, str]
    problem: str | None = None


def days_for(text: str, name: str, around: Schema, given: Set[str], times: Times) -> Days | None:
    """Return what the words `text` of the question give the date `name`, and its other side.

    None where `text` is no time of the question. `around` is the schema of the object with this
    argument, `given` the names of those that the plan has.
    """
    plain = " ".join(text.lower().split())
    bare = _BESIDE.fullmatch(plain)
    found = times.said.get(plain) or (times.said.get(bare[1]) if bare else None)
    if found is None:
        return None
    if found.range is None:
        return Days(text, {}, f"“{text}” is unclear: {found.question}")
    said = f"“{text}” is {found.range}" + (f" ({found.note})" if found.note else "")
    if found.ahead is not None:
        said += f"; where what lies ahead is meant, {found.ahead}"
    if _UNCLEAR.fullmatch(_snake(name)):
        return _refused(said, f"Whether {name!r} includes its own day is not known.")
    named = [node.get("properties") for node in around.nodes()]
    names = [each for listed in named if isinstance(listed, dict) for each in listed]
    sides = {each: _side(each) for each in names if is_date(at(around, (each,)))}
    days, has_end = found.range, any(each.at == 1 for each in sides.values())
    if sides[name].at == 0 and not has_end and days.last == times.today:
        days = DateRange(days.first, None)  # there is only a first day, and both end today
    return _placed(said, days, name, sides, given)


def _placed(
    said: str, days: DateRange, name: str, sides: Mapping[str, _Side], given: Set[str]
) -> Days:
    own, across = (days.first, days.last) if sides[name].at == 0 else (days.last, days.first)
    if sides[name].at is None:
        if days.first is None or days.first != days.last:
            return _refused(said, f"{name!r} takes one day.")
        return Days(said, {name: days.first.isoformat()})
    if own is None:
        return _refused(said, f"It has no day for {name!r}.")
    values, other = {name: own.isoformat()}, _other(name, sides)
    if other is None and across is not None:
        return _refused(said, f"No argument takes its other day, {across}.")
    if other is not None and other not in given and across is not None:
        values[other] = across.isoformat()
    return Days(said, values)


def _refused(said: str, why: str) -> Days:
    return Days(said, {}, f"{said}. {why}")


def _snake(name: str) -> str:
    return _HUMP.sub("_", name).replace("-", "_").lower()


class _Side(NamedTuple):
    """Which day of a range an argument takes: 0 the first, 1 the last, None neither."""

    at: int | None
    stem: str


def _side(name: str) -> _Side:
    for at_, side in enumerate(_SIDES):
        if found := side.fullmatch(_snake(name)):
            return _Side(at_, found["stem"] or "")
    return _Side(None, "")


def _other(name: str, sides: Mapping[str, _Side]) -> str | None:
    """Return the argument for the other side of the range, None where it is not certain."""
    own = sides[name]
    across = [each for each, its in sides.items() if {its.at, own.at} == {0, 1}]
    same = [each for each in across if sides[each].stem == own.stem]
    if len(same) == 1:
        return same[0]
    rivals = [each for each in sides.values() if each.at == own.at]
    return across[0] if len(across) == 1 and len(rivals) == 1 else None


def is_date(part: object) -> bool:
    """Return whether `part` is the schema of a date."""
    return isinstance(part, Schema) and any(n.get("format") == "date" for n in part.nodes())
