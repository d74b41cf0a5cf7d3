"""Values in the wrong JSON type or spelling, and times in the words of the question.

A value is corrected only where exactly one other spelling of it is accepted, so that nothing is
chosen for the writer. A value that a bound, a pattern, a format, an enum or a length refused stays
refused: another type would only get around the constraint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from toolplan.dates import DateRange, Times
from toolplan.plan.exact_json import read_json
from toolplan.plan.path import Json
from toolplan.schema import JsonType, Schema, at, elements, types_of, value_types

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_NO_LIST = re.compile(r"[^\[\]{},;|\n]*")
_BOOLEANS = {"true": True, "false": False}
_LONGEST = 10_000

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_EITHER_ORDER: Final = re.compile(r"(?P<m>[0-9]{1,2})([-/.])(?P<d>[0-9]{1,2})\2(?P<y>[0-9]{4})")
_DATES: Final = (
    re.compile(r"(?P<y>[0-9]{4})([-/.])(?P<m>[0-9]{1,2})\2(?P<d>[0-9]{1,2})"),
    re.compile(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"),
    re.compile(r"(?P<d>[0-9]{1,2})(?:st|nd|rd|th)?[ -](?P<m>[a-z]{3,9})\.?,?[ -](?P<y>[0-9]{4})"),
    re.compile(r"(?P<m>[a-z]{3,9})\.? (?P<d>[0-9]{1,2})(?:st|nd|rd|th)?,? (?P<y>[0-9]{4})"),
    _EITHER_ORDER,
)
_MIDNIGHT: Final = re.compile(r"(.+)[Tt ]00:00(?::00(?:\.0+)?)?[Zz]?")
_LONGEST_DATE: Final = 40


def respelt(value: Json, schema: Schema) -> tuple[Json] | None:
    """Return the one other spelling of `value` that `schema` accepts, None if none or several.

    None also where `schema` has a place for values of this type, or of the type of another
    spelling, and its constraints refused the value there.
    """
    accepted: dict[str, Json] = {}
    types = types_of(schema)
    stays = _has_place(value, types)
    for other in _spellings(value, schema):
        if schema.is_valid(other):
            if not stays or type(other) is type(value):
                accepted[json.dumps(other, sort_keys=True)] = other
            continue
        part, kind = (elements(schema), value) if isinstance(other, list) else (schema, other)
        if isinstance(part, Schema) and _has_place(kind, types_of(part)):
            return None  # a constraint on such values refused it
    return (accepted.popitem()[1],) if len(accepted) == 1 else None


def _has_place(value: Json, types: frozenset[JsonType]) -> bool:
    """Return whether values of this type are among `types`; all numbers are of one type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return not types.isdisjoint(("integer", "number"))
    return not types.isdisjoint(value_types(value))


def _spellings(value: Json, schema: Schema) -> Iterator[Json]:
    match value:
        case str() if len(value) <= _LONGEST:
            plain = value.strip()
            if _NUMBER.fullmatch(plain):
                number: int | float = json.loads(plain)
                if Decimal(plain) == Decimal(repr(number)):  # no digit is lost
                    yield int(number) if number == int(number) else number
            if plain.casefold() in _BOOLEANS:
                yield _BOOLEANS[plain.casefold()]
            if plain[:1] in ("[", "{"):
                yield from _of_json(plain)
            folded = _folded(value)
            yield from (each for each in _listed(schema) if _folded(each) == folded)
            if (day := iso_date(value)) is not None and is_date(schema):
                yield day
            # "a, b" may mean two values, and "" none
            if value.strip() and _NO_LIST.fullmatch(value):
                yield [value]
        case bool() | float():  # 1.1 may have been written 1.10, as the number of a version
            yield [value]
        case int():
            yield str(value)
            yield [value]
        case [single] if not isinstance(single, list | dict):
            yield single
        case _:
            return


def _of_json(text: str) -> Iterator[Json]:
    try:
        yield read_json(text, every_digit=True)
    except (ValueError, RecursionError):
        return


def _listed(schema: Schema) -> Iterator[str]:
    """Yield the strings that `enum` and `const` list, in alternatives and behind `$ref` too."""
    for node in schema.nodes():
        if isinstance(values := node.get("enum"), list):
            yield from (each for each in values if isinstance(each, str))
        if isinstance(constant := node.get("const"), str):
            yield constant


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def iso_date(text: str) -> str | None:
    """Return the day that `text` names as `YYYY-MM-DD`; None where it is ambiguous or no date.

    >>> iso_date("6 October 2025"), iso_date("2025/10/6"), iso_date("31.12.2025")
    ('2025-10-06', '2025-10-06', '2025-12-31')
    >>> iso_date("10/06/2025") is None  # June or October
    True
    """
    if len(text) > _LONGEST_DATE:
        return None
    plain = text.strip().lower()
    if midnight := _MIDNIGHT.fullmatch(plain):
        plain = midnight[1]
    for form in _DATES:
        if found := form.fullmatch(plain):
            year, month, day = int(found["y"]), _month(found["m"]), int(found["d"])
            days = {_day(year, month, day)}
            if form is _EITHER_ORDER:
                days |= {_day(year, day, month)}
            days.discard(None)
            return days.pop() if len(days) == 1 else None
    return None


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    found = [at for at, month in enumerate(_MONTHS, 1) if text in (month, month[:3], month[:4])]
    return found[0] if found else 0


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


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
"""Names of arguments that may or may not include their own day."""


class Days(NamedTuple):
    """A sentence on a time, `said`, and its days by argument; no days with a `problem`."""

    said: str
    values: Mapping[str, str]
    problem: str | None = None


def days_for(text: str, name: str, around: Schema, given: Set[str], times: Times) -> Days | None:
    """Return the days that `text`, words of the question, means for `name` and its other side.

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
    message = f"“{text}” is {found.range}" + (f" ({found.note})" if found.note else "")
    if found.ahead is not None:
        message += f"; where what lies ahead is meant, {found.ahead}"
    if _UNCLEAR.fullmatch(_snake(name)):
        return _refused(message, f"Whether {name!r} includes its own day is not known.")
    named = [node.get("properties") for node in around.nodes()]
    names = [each for listed in named if isinstance(listed, dict) for each in listed]
    sides = {each: _side(each) for each in names if is_date(at(around, (each,)))}
    days, has_end = found.range, any(each.at == 1 for each in sides.values())
    if sides[name].at == 0 and not has_end and days.last == times.today:
        days = DateRange(days.first, None)  # there is only a first day, and both end today
    return _placed(message, days, name, sides, given)


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
    """The day of a range that an argument takes: 0 the first, 1 the last, None neither."""

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
