"""Columns settled: which type each column of each table is read as, so that a statement binds.

The rows of a table say what its columns are, but not always enough: a column may be null in every
row, a table may be empty, and text that looks like dates may be meant as text. The statement says
the rest. Each column comes with the readings that it may have, the best first; the first
combination that the database can bind the statement with is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations, islice, product
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan_sql._database import Database, ResultColumn
from toolplan_sql._faults import MissingColumn, SqlFault, Stopped
from toolplan_sql._functions import Call
from toolplan_sql._statement import Statement
from toolplan_sql._types import ColumnType, Scalar, Table
from toolplan_sql._values import AS_ENTRIES, UNSEEN

_MOST_TRIALS: Final = 400
_MOST_CHANGED: Final = 4
_MOST_FOUND: Final = 200

_Change: TypeAlias = tuple[str, str, ColumnType]


class Binding(Struct, frozen=True):
    """A statement bound: the type of each column of each table, and the columns of the result.

    `guessed`: what the statement reads was not wholly known, so that types of the result are not.
    """

    tables: Mapping[str, Mapping[str, ColumnType]]
    result: tuple[ResultColumn, ...]
    calls: tuple[Call, ...]
    guessed: bool


def bind(database: Database, statement: Statement, tables: Mapping[str, Table]) -> Binding:
    """Make `tables` in `database`, without rows, so that `statement` can be bound.

    Raises:
        SqlFault: no reading of the columns fits the statement; it says what is wrong with the best.
    """
    for _ in range(_MOST_FOUND):
        try:
            return _settle(database, statement, tables)
        except MissingColumn as fault:
            owner = _owner(statement, tables, fault)
            if owner is None:
                raise
            table = tables[owner]
            readings = {**table.readings, fault.column: UNSEEN}
            tables = {**tables, owner: replace(table, readings=readings)}
    raise SqlFault("The statement reads too many columns that are not known.")


def _settle(database: Database, statement: Statement, tables: Mapping[str, Table]) -> Binding:
    best = {
        name: {key: each[0] for key, each in table.readings.items()}
        for name, table in tables.items()
    }
    current: dict[str, dict[str, ColumnType]] = {}
    first: SqlFault | None = None
    for changes in chain(((),), islice(_changes(statement, tables), _MOST_TRIALS)):
        chosen = {name: dict(columns) for name, columns in best.items()}
        for name, key, each in changes:
            chosen[name][key] = each
        for name, columns in chosen.items():
            if columns != current.get(name):
                database.create(name, columns)
        current = chosen
        try:
            bound = database.bind(statement)
            guessed = _has_guesses(statement, tables, chosen)
            return Binding(chosen, bound.columns, bound.calls, guessed)
        except Stopped:
            raise
        except MissingColumn as fault:
            if not changes or _owner(statement, tables, fault) is not None:
                raise
        except SqlFault as fault:
            first = first or fault
    fault = first or SqlFault("The statement cannot be bound.")
    fault.is_certain = not _has_guesses(statement, tables, best)
    raise fault


def _has_guesses(
    statement: Statement,
    tables: Mapping[str, Table],
    chosen: Mapping[str, Mapping[str, ColumnType]],
) -> bool:
    """Return whether the type of a column that the statement may read is not known."""
    return any(
        (each[0] is Scalar.JSON and chosen[name][key] in AS_ENTRIES[1:])
        or (each[0] is Scalar.UNKNOWN and len(each) > 1 and statement.mentions(key))
        for name in statement.tables
        for key, each in tables[name].readings.items()
    )


def _changes(statement: Statement, tables: Mapping[str, Table]) -> Iterator[tuple[_Change, ...]]:
    """Yield what may be read otherwise than at first, one column, then two, and so on."""
    others = [
        [(name, key, each) for each in readings[1:]]
        for name in statement.tables
        for key, readings in tables[name].readings.items()
        if len(readings) > 1 and statement.mentions(key)
    ]
    for count in range(1, min(len(others), _MOST_CHANGED) + 1):
        for columns in combinations(others, count):
            yield from product(*columns)


def _owner(statement: Statement, tables: Mapping[str, Table], fault: MissingColumn) -> str | None:
    """Return the open table that the missing column must be of, or None."""
    folded = fault.column.casefold()
    if fault.table is not None:
        named = statement.aliases.get(fault.table.casefold())
        candidates = () if named is None else (named,)
    else:
        candidates = statement.tables
    for name in candidates:
        table = tables[name]
        if table.is_open and folded not in map(str.casefold, table.readings):
            return name
    return None
