"""Conditions on rows, and how SQL says them. Names and values are always quoted here, by us."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from toolplan.path import Json


@dataclass(frozen=True, slots=True)
class Compared:
    """A column compared with a number; `operator` is SQL's."""

    column: str
    operator: str
    value: float


@dataclass(frozen=True, slots=True)
class Among:
    """A column that is, or is not, one of `values`. A null is never one of them."""

    column: str
    values: tuple[Json, ...]
    wanted: bool
    nullable: bool


@dataclass(frozen=True, slots=True)
class Contains:
    """A list in a column that holds, or does not hold, any of `values`."""

    column: str
    values: tuple[Json, ...]
    wanted: bool


@dataclass(frozen=True, slots=True)
class Within:
    """A column between two numbers or days, both included; an open side is None."""

    column: str
    low: float | date | None
    high: float | date | None


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A column whose value occurs nowhere in the column `its` of the table `other`."""

    column: str
    other: str
    its: str


Condition: TypeAlias = Compared | Among | Contains | Within | Unlinked


def identifier(name: str) -> str:
    """Give `name` as a quoted SQL identifier.

    >>> print(identifier("loan date"))
    "loan date"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: Json | date) -> str:
    """Give `value` as an SQL literal.

    >>> literal("it's"), literal(True)
    ("'it''s'", 'TRUE')
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return repr(value)
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def sql(condition: Condition, table: str = "") -> str:
    """Give `condition` as an SQL expression; `table` is put before columns where it is given."""
    column = qualified(condition.column, table)
    match condition:
        case Compared(operator=operator, value=value):
            return f"{column} {operator} {literal(value)}"
        case Among():
            return _among(condition, column)
        case Contains(values=values, wanted=wanted):
            parts = [f"list_contains({column}, {literal(value)})" for value in values]
            joined = " OR ".join(parts)
            if not wanted:
                return f"NOT ({joined})"
            return f"({joined})" if len(parts) > 1 else joined
        case Unlinked(other=other, its=its):
            inner = identifier(its)
            rows = ["SELECT", inner, "FROM", identifier(other), "WHERE", inner, "IS NOT NULL"]
            return f"{column} NOT IN ({' '.join(rows)})"
        case Within(low=low, high=high):
            bounds = [f"{column} >= {literal(low)}"] if low is not None else []
            if isinstance(high, date):
                # a moment on the last day is still within
                bounds.append(f"{column} < {literal(high)} + INTERVAL 1 DAY")
            elif high is not None:
                bounds.append(f"{column} <= {literal(high)}")
            return " AND ".join(bounds) or "TRUE"


def qualified(column: str, table: str = "") -> str:
    """Give the quoted name of `column`, with its table's before it where one is given."""
    return f"{identifier(table)}.{identifier(column)}" if table else identifier(column)


def _among(condition: Among, column: str) -> str:
    values = [literal(value) for value in condition.values]
    if len(values) == 1:
        if condition.wanted:
            return f"{column} = {values[0]}"
        if condition.nullable:
            return f"{column} IS DISTINCT FROM {values[0]}"
        return f"{column} <> {values[0]}"
    listed = ", ".join(values)
    if condition.wanted:
        return f"{column} IN ({listed})"
    if condition.nullable:
        return f"({column} IS NULL OR {column} NOT IN ({listed}))"
    return f"{column} NOT IN ({listed})"
