"""Values in the wrong JSON type or spelling.

A value is corrected only where exactly one other spelling of it is accepted, so that nothing is
chosen for the writer. A value that a bound, a pattern, a format, an enum or a length refused stays
refused: another type would only get around the constraint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema import JsonType, Schema, elements, types_of, value_types

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
        elif _was_constrained(other, value, schema):
            return None
    return (accepted.popitem()[1],) if len(accepted) == 1 else None


def _was_constrained(other: Json, value: Json, schema: Schema) -> bool:
    """Return whether `schema` refused the spelling `other` by a constraint on such values."""
    if not isinstance(other, list):
        return _has_place(other, types_of(schema))
    inner = elements(schema)
    return isinstance(inner, Schema) and _has_place(value, types_of(inner))


def _has_place(value: Json, types: frozenset[JsonType]) -> bool:
    """Return whether values of this type are among `types`; all numbers are of one type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return not types.isdisjoint(("integer", "number"))
    return not types.isdisjoint(value_types(value))


def _spellings(value: Json, schema: Schema) -> Iterator[Json]:
    match value:
        case str() if len(value) <= _LONGEST:
            yield from _of_text(value, schema)
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


def _of_text(text: str, schema: Schema) -> Iterator[Json]:
    plain = text.strip()
    if _NUMBER.fullmatch(plain):
        number: int | float = json.loads(plain)
        if Decimal(plain) == Decimal(repr(number)):  # no digit is lost
            yield int(number) if number == int(number) else number
    if plain.casefold() in _BOOLEANS:
        yield _BOOLEANS[plain.casefold()]
    if plain[:1] in ("[", "{"):
        yield from _of_json(plain)
    folded = _folded(text)
    yield from (each for each in _listed(schema) if _folded(each) == folded)
    if (day := iso_date(text)) is not None and _is_format(schema, "date"):
        yield day


def _of_json(text: str) -> Iterator[Json]:
    try:
        yield json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _listed(schema: Schema) -> Iterator[str]:
    """Yield the strings that `enum` and `const` list, in alternatives and behind `$ref` too."""
    for node in schema.nodes():
        if isinstance(values := node.get("enum"), list):
            yield from (each for each in values if isinstance(each, str))
        if isinstance(constant := node.get("const"), str):
            yield constant


def _is_format(schema: Schema, name: str) -> bool:
    return any(node.get("format") == name for node in schema.nodes())


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
