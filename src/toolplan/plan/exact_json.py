"""JSON of others, read exactly or refused."""

from __future__ import annotations

import json
from decimal import Context, Decimal
from math import isfinite
from typing import Final, NoReturn

from toolplan.plan.path import Json

_ALL_INTEGERS: Final = 2.0**53
"""Doubles below it keep every integer, and a fraction to its fifteenth digit."""


class InexactJson(ValueError):
    """The text is JSON but for a value that nothing can keep: NaN, an infinity, a key twice."""


def read_json(text: str | bytes, *, every_digit: bool = False) -> Json:
    """Return the value of a JSON text, in any encoding of Unicode.

    With `every_digit`, a fraction must keep all of its digits, as those of a plan do.

    Raises:
        InexactJson: it has NaN or an infinity in it, a number too large or too small to be kept, or
            a key twice in an object.
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_exact if every_digit else _kept,
        object_pairs_hook=_unique,
    )


def _refuse_constant(name: str) -> NoReturn:
    raise InexactJson(f"JSON with {name} in it, and JSON has neither NaN nor infinities")


def _kept(text: str) -> float:
    """Return a number as a double. It is refused where that loses more than a fraction's end.

    Programs write large doubles in their shortest form, or with as many digits as they were told.
    """
    number = float(text)
    mantissa = text.lower().partition("e")[0]
    if abs(number) < _ALL_INTEGERS and (number or not mantissa.strip("-0.")):
        return number
    if number and isfinite(number):
        said, kept = Decimal(text), Decimal(number)
        rounded = Context(prec=len(said.as_tuple().digits)).create_decimal(kept)
        if said in (Decimal(repr(number)), rounded):
            return number
    raise InexactJson(f"JSON with {text[:60]} in it, which a number of 64 bits does not keep")


def _exact(text: str) -> float:
    number = _kept(text)
    if number and Decimal(text) != Decimal(repr(number)):
        raise InexactJson(f"JSON with {text[:60]} in it, whose last digits would be lost")
    return number


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InexactJson(f"JSON with the key {twice[:60]!r} twice in an object")
    return found
