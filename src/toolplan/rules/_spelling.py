"""Values in the wrong JSON type or spelling.

A value is corrected only where exactly one other spelling of it is accepted, so that nothing is
chosen for the writer. A value that a bound, a pattern, a format, an enum or a length refused stays
refused: another type would only get around the constraint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from toolplan.path import Json
from toolplan.rules._dates import iso_date
from toolplan.schema import JsonType, Schema, elements, types_of, value_types

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_NO_LIST = re.compile(r"[^\[\]{},;|\n]*")
_BOOLEANS = {"true": True, "false": False}
_LONGEST = 10_000


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
            if _NO_LIST.fullmatch(value):  # "a, b" may mean two values
                yield [value]
        case bool():
            yield [value]
        case int():
            yield str(value)
            yield [value]
        case float():
            if not value.is_integer():  # 2.0 may have been written 2
                yield repr(value)
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
