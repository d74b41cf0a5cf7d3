"""Values of a result, from the forms that the database driver gives them in, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from math import isfinite
from typing import TypeAlias, cast

from toolplan.path import Json
from toolplan.sources.sql._faults import SqlFault
from toolplan.sources.sql._types import ColumnType, ListOf, Scalar, Struct

Reader: TypeAlias = Callable[[object], Json]


def reader(column: ColumnType) -> Reader | None:
    """Return what turns a value of `column` from Python's form into JSON; None: nothing needed."""
    match column:
        case Scalar.NUMBER:
            return _number
        case Scalar.DATE:
            return _date
        case Scalar.DATE_TIME:
            return _date_time
        case Scalar.JSON:
            return _document
        case Scalar.STRING:
            return _string
        case Scalar():
            return None
        case ListOf(item):
            inner = reader(item)
            return lambda value: (
                [each if inner is None else inner(each) for each in cast("list[Json]", value)]
                if isinstance(value, list)
                else None
            )
        case Struct(fields):
            readers = [(name, reader(each)) for name, each in fields]
            return lambda value: (
                _object(cast("dict[str, Json]", value), readers)
                if isinstance(value, dict)
                else None
            )


def _object(value: dict[str, Json], readers: list[tuple[str, Reader | None]]) -> Json:
    return {name: value[name] if read is None else read(value[name]) for name, read in readers}


def _number(value: object) -> Json:
    if value is None:
        return None
    number = float(str(value)) if not isinstance(value, float | int) else value
    return number if isfinite(number) else None  # NaN and infinities have no JSON


def _date(value: object) -> Json:
    if isinstance(value, str):  # how the driver gives days that Python has no date for
        raise SqlFault(f"The day {value!r} of the result is outside the years 1 to 9999.")
    return value.isoformat() if isinstance(value, date) else None


def _date_time(value: object) -> Json:
    if isinstance(value, str):
        raise SqlFault(f"The time {value!r} of the result is outside the years 1 to 9999.")
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else None


def _document(value: object) -> Json:
    return json.loads(value) if isinstance(value, str) else None


def _string(value: object) -> Json:
    return None if value is None else str(value)
