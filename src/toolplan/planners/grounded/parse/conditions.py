"""Conditions on rows, written as SQL. Names and values are quoted only here."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.path import Json
from toolplan.planners.grounded.language.words import word_set


class Compared(Struct, frozen=True):
    """A column compared with a number; `operator` is SQL's."""

    column: str
    operator: str
    value: float


class Among(Struct, frozen=True):
    """A column that is, or is not, one of `values`. A null is never one of them."""

    column: str
    values: tuple[Json, ...]
    wanted: bool
    nullable: bool


class Contains(Struct, frozen=True):
    """A list in a column that holds, or does not hold, any of `values`; with `every` all.

    Where it is `nullable`, no list holds nothing.
    """

    column: str
    values: tuple[Json, ...]
    wanted: bool
    every: bool = False
    nullable: bool = False


class Within(Struct, frozen=True):
    """A column between two numbers or days, both included; an open side is None."""

    column: str
    low: float | date | None
    high: float | date | None


class Linked(Struct, frozen=True):
    """A column whose value occurs, or occurs nowhere, in the column `its` of the table `other`.

    Where it is `nullable`, no value occurs nowhere.
    """

    column: str
    other: str
    its: str
    wanted: bool
    nullable: bool = False


class Missing(Struct, frozen=True):
    """A column without a value, or with one where `wanted` is False."""

    column: str
    wanted: bool


class Share(Struct, frozen=True):
    """A column compared with a share of another one; `operator` is SQL's."""

    column: str
    whole: str
    operator: str
    share: float


Condition: TypeAlias = Compared | Among | Contains | Within | Linked | Missing | Share


# what may not stand bare as a name, in the engine that computes: DuckDB's own list
_RESERVED: Final = word_set(
    """
    all analyse analyze and any array as asc asymmetric both case cast check collate column
    constraint create default deferrable desc describe distinct do else end except false fetch for
    foreign from group having in initially intersect into lambda lateral leading limit not null
    offset on only or order pivot pivot_longer pivot_wider placing primary qualify references
    returning select show some summarize symmetric table then to trailing true union unique unpivot
    using variadic when where window with
    anti asof at authorization between bigint binary bit boolean by char character coalesce
    collation columns concurrently cross dec decimal exists extract float freeze full generated glob
    grouping grouping_id ilike inner inout int integer interval is isnull join left like map
    national natural nchar none notnull nullif numeric out outer overlaps overlay position
    positional precision real right row semi setof similar smallint struct substring tablesample
    time timestamp treat trim try_cast tuple unpack values varchar verbose xmlattributes xmlconcat
    xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
    """
)
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def identifier(name: str) -> str:
    """Return `name` as an SQL identifier, quoted only where it must be: people read it.

    >>> print(identifier("loan_date"), identifier("Loan date"), identifier("order"))
    loan_date "Loan date" "order"
    """
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: Json | date) -> str:
    """Return `value` as an SQL literal.

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
    """Return `condition` as an SQL expression; `table` is put before columns where it is given."""
    column = qualified(condition.column, table)
    match condition:
        case Compared(operator=operator, value=value):
            return f"{column} {operator} {literal(value)}"
        case Among():
            return _among(condition, column)
        case Contains(values=values, wanted=wanted, every=every, nullable=nullable):
            parts = [f"list_contains({column}, {literal(value)})" for value in values]
            joined = (" AND " if every else " OR ").join(parts)
            if not wanted:
                absent = f"NOT ({joined})"
                return f"({column} IS NULL OR {absent})" if nullable else absent
            return f"({joined})" if len(parts) > 1 else joined
        case Linked(other=other, its=its, wanted=wanted, nullable=nullable):
            inner = identifier(its)
            rows = ["SELECT", inner, "FROM", identifier(other), "WHERE", inner, "IS NOT NULL"]
            linked = f"{column} {'IN' if wanted else 'NOT IN'} ({' '.join(rows)})"
            return f"({column} IS NULL OR {linked})" if nullable and not wanted else linked
        case Missing(wanted=wanted):
            return f"{column} IS NULL" if wanted else f"{column} IS NOT NULL"
        case Share(whole=whole, operator=operator, share=share):
            return f"{column} {operator} {literal(share)} * {qualified(whole, table)}"
        case Within(low=low, high=high):
            bounds = [f"{column} >= {literal(low)}"] if low is not None else []
            if isinstance(high, date):
                # a moment on the last day is still within
                bounds.append(f"{column} < {literal(high)} + INTERVAL 1 DAY")
            elif high is not None:
                bounds.append(f"{column} <= {literal(high)}")
            return " AND ".join(bounds) or "TRUE"


def qualified(column: str, table: str = "") -> str:
    """Return the name of `column`, with its table's before it where one is given."""
    return f"{identifier(table)}.{identifier(column)}" if table else identifier(column)


def _among(condition: Among, column: str) -> str:
    values, wanted = [literal(value) for value in condition.values], condition.wanted
    unknown_too = condition.nullable and not wanted
    match condition.values:
        case [bool(value)]:
            if unknown_too:
                return f"{column} IS NOT {literal(value)}"
            return column if value is wanted else f"NOT {column}"
        case [_]:
            operator = "=" if wanted else "IS DISTINCT FROM" if unknown_too else "<>"
            return f"{column} {operator} {values[0]}"
        case _:
            listed = f"{column} {'IN' if wanted else 'NOT IN'} ({', '.join(values)})"
            return f"({column} IS NULL OR {listed})" if unknown_too else listed
