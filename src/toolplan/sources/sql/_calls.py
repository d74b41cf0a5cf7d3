"""Calls of the tool: their rows become tables of a database, and the statement reads them."""

from __future__ import annotations

from typing import Final

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json, json_type
from toolplan.schema import SchemaError
from toolplan.sources.sql._binding import Table, bind, unreadable
from toolplan.sources.sql._check import Check
from toolplan.sources.sql._database import Database, Stopwatch
from toolplan.sources.sql._faults import MissingColumn, SqlFault, Stopped
from toolplan.sources.sql._statement import Statement
from toolplan.sources.sql._types import (
    MAX_COLUMNS,
    ColumnType,
    clashing,
    declared_type,
    describe,
    is_partial,
)
from toolplan.sources.sql._values import Use, marked, misfit, readings, shown, table_columns
from toolplan.sources.sql._words import WORDS, SqlLimits
from toolplan.threads import run_in_thread, threads_of
from toolplan.tools import Arguments, ToolError

_MOST_CALLS: Final = 32  # at the same time: each has a database in memory


async def call_sql(arguments: Arguments, limits: SqlLimits, check: Check) -> Json:
    """Return what the statement of a call selects.

    Raises:
        ToolError: it cannot be run, or has too many rows.
    """
    call = _SqlCall(arguments, limits, check)
    try:
        return await run_in_thread(call.run, threads_of("sql", _MOST_CALLS), on_cancel=call.stop)
    except SqlFault as fault:
        raise ToolError(str(fault)) from fault


class _SqlCall:
    """One call: made in the event loop, run in a thread, stopped from anywhere."""

    def __init__(self, arguments: Arguments, limits: SqlLimits, check: Check) -> None:
        self._check = check
        self._text = arguments.get("sql")
        self._tables = _objects(arguments.get("tables"))
        self._columns = _objects(arguments.get("columns"))
        self._limits = limits
        self._database: Database | None = None
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        if self._database is not None:
            self._database.stop()

    def run(self) -> Json:
        if not isinstance(self._text, str):
            raise SqlFault("'sql' must be text.")
        self._check.rest()
        with Database(self._limits.memory_mb) as database:
            self._database = database
            if self._stopped:
                raise Stopped("The statement was stopped.")
            with Stopwatch(database, self._limits.seconds) as watch:
                try:
                    return self._run(database, self._text)
                except Stopped as fault:
                    if watch.ran_out:
                        seconds = self._limits.seconds
                        raise SqlFault(f"The statement took longer than {seconds:g} s.") from fault
                    raise
                finally:
                    self._database = None

    def _run(self, database: Database, text: str) -> Json:
        rows = {name: _rows(name, value) for name, value in self._tables.items()}
        keys = {key for each in rows.values() for row in each for key in row}
        keys.update(key for each in self._columns.values() for key in _objects(each))
        statement = database.statement(text, tuple(rows), keys)
        if statement.problems:
            raise SqlFault(" ".join(statement.problems))
        read = {
            name: _Rows(name, rows[name], _objects(self._columns.get(name)), statement)
            for name in statement.tables
        }
        if mixed := unreadable({name: each.table for name, each in read.items()}):
            raise SqlFault(mixed)
        try:
            binding = bind(database, statement, {name: each.table for name, each in read.items()})
        except MissingColumn as fault:
            names = [key for each in read.values() for key in each.names]
            raise SqlFault(_missing(fault, names)) from fault
        for name, each in read.items():
            if each.count:
                database.load(name, binding.tables[name], each.values, each.count)
        result = database.run(statement, self._limits.rows)
        return {"data": list[Json](result), "count": len(result)}


class _Rows:
    """The rows of one table by column: of the columns that the statement may read."""

    def __init__(
        self, name: str, rows: list[dict[str, Json]], columns: dict[str, Json], statement: Statement
    ) -> None:
        declared = {key: _declared(name, key, each) for key, each in columns.items()}
        names = dict.fromkeys([*declared, *(key for row in rows for key in row)])
        if clash := clashing(names):
            raise SqlFault(
                f"The columns {clash[0]!r} and {clash[1]!r} of {name!r} differ in letter case only,"
                " which SQL cannot distinguish."
            )
        self.count = len(rows)
        self.names = tuple(names)
        self.values = table_columns(rows, filter(statement.mentions, names))
        if len(self.values) > MAX_COLUMNS:
            raise SqlFault(f"The table {name!r} has more than {MAX_COLUMNS} columns.")
        for key in declared.keys() & self.values.keys():
            _require_fit(name, key, self.values[key], declared[key])
        types = {
            key: _declared_reading(declared[key], values, statement.use)
            if key in declared
            else readings(values, statement.use)
            for key, values in self.values.items()
        }
        self.table = Table(types, is_open=not rows)


def _declared_reading(declared: ColumnType, values: list[Json], use: Use) -> tuple[ColumnType, ...]:
    column = marked(declared, values)
    return () if is_partial(column) and use.keys else (column,)


def _missing(fault: MissingColumn, names: list[str]) -> str:
    hint = did_you_mean(near(fault.column, names)) or (
        "If rows may lack it, declare its type in 'columns'."
    )
    return f"No row has a column {fault.column!r}. {hint}"


def _require_fit(name: str, key: str, values: list[Json], declared: ColumnType) -> None:
    row = misfit(values, declared)
    if row is not None:
        raise SqlFault(
            f"The column {key!r} of {name!r} is declared as {describe(declared)}, and its row {row}"
            f" holds {json_type(values[row])}: {shown(values[row])}."
        )


def _declared(name: str, key: str, declared: Json) -> ColumnType:
    try:
        found = declared_type(declared)
    except SchemaError as error:
        raise SqlFault(f"The type of {key!r} of {name!r} is not usable: {error}.") from error
    if found is None:
        raise SqlFault(f"The type of {key!r} of {name!r} is none of {', '.join(WORDS)}.")
    return found


def _objects(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _rows(name: str, value: Json) -> list[dict[str, Json]]:
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(rows) != len(value):
        raise SqlFault(f"The table {name!r} is not a list of objects.")
    return rows
