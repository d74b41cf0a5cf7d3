"""Which type of the database holds the numbers of a column exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final

from toolplan.path import Json
from toolplan.sources.sql._types import ColumnType, DecimalOf, Scalar

MOST_IN_DOUBLE: Final = 2**53
"""Up to here a double holds each integer."""

_BIGINT: Final = range(-(2**63), 2**63)
_HUGEINT: Final = range(-(2**127) + 1, 2**127)
_DIGITS: Final = 38


def number_type(values: Iterable[float]) -> ColumnType | None:
    """Return the type that holds all of `values` exactly, None where there is none."""
    whole = [value for value in values if isinstance(value, int)]
    fractions = {value for value in values if isinstance(value, float)}
    least, most = min(whole, default=0), max(whole, default=0)
    if not fractions:
        if least in _BIGINT and most in _BIGINT:
            return Scalar.INTEGER
        return Scalar.HUGE if least in _HUGEINT and most in _HUGEINT else None
    if max(-least, most) <= MOST_IN_DOUBLE:
        return Scalar.NUMBER
    return decimal_type({*whole, *fractions})


def decimal_type(values: Iterable[float]) -> DecimalOf | None:
    """Return the decimals that hold all of `values` as they are written, or None."""
    before = after = 0
    for value in values:
        _, digits, exponent = Decimal(repr(value)).as_tuple()
        if not isinstance(exponent, int):
            return None
        zeros = len(digits) - len(str(int("".join(map(str, digits)))).rstrip("0") or "0")
        after = max(after, -(exponent + zeros) if any(digits) else 0)
        before = max(before, len(digits) + exponent)
    return DecimalOf(after) if before + after <= _DIGITS else None


def numbers(values: Sequence[Json]) -> Iterator[tuple[int, float]]:
    """Yield the numbers in `values`, at any depth, each with the index of its row."""
    for row, value in enumerate(values):
        pending = [value]
        while pending:
            part = pending.pop()
            if isinstance(part, list):
                pending.extend(part)
            elif isinstance(part, dict):
                pending.extend(part.values())
            elif isinstance(part, int | float) and not isinstance(part, bool):
                yield row, part
