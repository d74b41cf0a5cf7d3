"""Filters of the list tools as SQL: conditions are fixed text, what the caller says is bound."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from toolplan.demo.database import Database, SqlValue
from toolplan.demo.gazetteers import Spelled, fold, proper
from toolplan.path import Json
from toolplan.tools import Arguments

LIMIT: Final = "limit"
_AMONG: Final = " IN (SELECT value FROM json_each(?))"


class Filter(Struct, frozen=True):
    """What one argument demands: an SQL condition with one `?`, and what stands for it."""

    argument: str
    condition: str
    value: Callable[[Json], SqlValue]


class Listing(Struct, frozen=True):
    """A table that can be listed: its filters, and the order in which its rows come."""

    table: str
    filters: tuple[Filter, ...]
    order: str

    def answer(self, database: Database, arguments: Arguments) -> Json:
        """Return all the rows that `arguments` ask for, or the first `limit` of them."""
        conditions, values = where(self.filters, arguments)
        words = ("SELECT * FROM", self.table, conditions, "ORDER BY", self.order, "LIMIT ?")
        limit = arguments.get(LIMIT)
        rows = database.rows(" ".join(words), (*values, limit if isinstance(limit, int) else -1))
        return {"data": [*rows], "count": len(rows)}


def where(filters: Iterable[Filter], arguments: Arguments) -> tuple[str, tuple[SqlValue, ...]]:
    """Return the `WHERE` clause for those of `filters` that `arguments` use, and its values."""
    used = [each for each in filters if each.argument in arguments]
    if not used:
        return "", ()
    conditions = " AND ".join(each.condition for each in used)
    return f"WHERE {conditions}", tuple(each.value(arguments[each.argument]) for each in used)


def equals(argument: str, condition: str = "") -> Filter:
    """Demand one value of an enum or a boolean."""
    return Filter(argument, condition or f"{argument} = ?", _scalar)


def one_of(argument: str, column: str) -> Filter:
    """Demand an identity, or one of a list of them; an empty list lets nothing through."""
    # one bound value whatever the length of the list: SQLite bounds the number of those
    return Filter(argument, column + _AMONG, _json_list)


def same_text(argument: str, column: str, known: tuple[Spelled, ...] = ()) -> Filter:
    """Demand text without regard to case; another spelling of a `known` name is that name."""

    def value(given: Json) -> SqlValue:
        return fold(proper(str(given), known))

    return Filter(argument, f"fold({column}) = ?", value)


def bound(argument: str, condition: str) -> Filter:
    """Demand that a number or a date is not beyond a bound, which counts as inside."""
    return Filter(argument, condition, _scalar)


def to_end_of_day(argument: str, column: str) -> Filter:
    """Demand that a time is not behind the day given: its last second counts (C-07)."""
    return Filter(argument, f"{column} < ?", _next_day)


def next_day(date: str) -> str:
    """Return the ISO 8601 date behind `date`.

    Behind the last day of the calendar comes no other.
    """
    day = datetime.date.fromisoformat(date)
    if day == datetime.date.max:
        return "A"  # sorts behind every digit
    return (day + datetime.timedelta(days=1)).isoformat()


def _next_day(value: Json) -> SqlValue:
    return next_day(str(value))


def _json_list(value: Json) -> SqlValue:
    return json.dumps(value if isinstance(value, list) else [value])


def _scalar(value: Json) -> SqlValue:
    return value if isinstance(value, str | int | float) else None
