"""The built-in tool `sql`: one SELECT over the outputs of other steps, on an embedded DuckDB.

    {"sql": "SELECT carrier, count(*) AS n FROM shipments GROUP BY carrier",
     "tables": {"shipments": "${s0.data}"}}

gives `{"data": [{"carrier": …, "n": …}, …], "count": 2}`.

**What it may do.** Read its tables, and compute. The statement stands in the plan (`x-literal`),
and is one SELECT; no file, network, extension, setting or secret is within its reach, no clock and
no chance either, so that the same tables give the same result. Memory, rows and time are bounded.
A result with too many rows fails the step; it is never cut.

**Checked before it runs.** `compute_output` binds the statement to empty tables with the columns
of the referenced output schemas. What does not fit is a problem of the plan, and the result has a
schema that later references are checked against.

**Objects keyed by data.** `entries(object)` gives the keys and values of an object: as a table, one
row each, `SELECT name, key, value FROM hotels, entries(hotels.prices)`, or as a list of objects
`{key, value}`. Values have their type. Objects that have different keys keep them: no object gets
the keys of another.

**How columns are typed when it runs.** A call gets rows, not schemas, so types are read from the
values: whole numbers, numbers, booleans, text, dates (`YYYY-MM-DD` in every row), times (RFC 3339
in every row; in UTC), lists, objects. Text that looks like dates is still taken as text where the
statement cannot be bound otherwise. A column that is null in every row, and every column of a
table without rows, is taken as whatever the statement needs: a grouping over no rows gives no
rows, and `count(*)` over them 0. The check makes sure that such a reading exists.

**`columns`** says it once for all where values cannot be trusted to: `{"shipments": {"date":
"date", "weight_kg": "number"}}`, with one of `WORDS` or a JSON Schema for each column. A declared
column has its type in every run, exists even when no row has it, and a value that does not fit
fails the step. The check holds the declarations against the referenced schemas. Planners are best
advised to declare every column that their statement reads.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json, json_type
from toolplan.schema import SchemaError
from toolplan.sources.sql._binding import Table, bind, unreadable
from toolplan.sources.sql._check import Check
from toolplan.sources.sql._database import MAX_TEXT, Database, Stopwatch
from toolplan.sources.sql._faults import MissingColumn, SqlFault, Stopped
from toolplan.sources.sql._statement import Statement
from toolplan.sources.sql._types import (
    MAX_COLUMNS,
    WORDS,
    ColumnType,
    clashing,
    declared_type,
    describe,
    is_partial,
)
from toolplan.sources.sql._values import Use, marked, misfit, readings, shown, table_columns
from toolplan.threads import run_in_thread, threads_of
from toolplan.tools import Arguments, Effects, Tool, ToolError

NAME: Final = "sql"
MAX_TABLES: Final = 32
_MOST_CALLS: Final = 32  # at the same time: each has a database in memory

_IDENTIFIER: Final = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"


class SqlLimits(NamedTuple):
    """Bounds of one call: rows of the result, seconds, megabytes of memory."""

    rows: int = 100_000
    seconds: float = 30.0
    memory_mb: int = 512


_DEFAULT_LIMITS: Final = SqlLimits()


def sql_tool(limits: SqlLimits = _DEFAULT_LIMITS) -> Tool:
    """Return the tool `sql`, which limits each call by `limits`."""
    check = Check(limits.memory_mb, limits.seconds)

    async def call(arguments: Arguments) -> Json:
        return await _call(arguments, limits, check)

    return Tool(
        name=NAME,
        description=(
            "Computes over the rows of other steps by one SQL SELECT (DuckDB): filters, groups,"
            " sorts, joins, rates, trends. FROM t, entries(t.prices) gives key and value of each"
            " field of an object."
        ),
        raw_input=_INPUT,
        raw_output=_OUTPUT,
        effects=Effects.READ,
        idempotent=True,
        call=call,
        compute_output=check.compute_output,
        compute_flow=check.compute_flow,
        source="builtin",
    )


_INPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "sql": {
            "type": "string",
            "description": "One SELECT statement over the tables that 'tables' names.",
            "minLength": 1,
            "maxLength": MAX_TEXT,
            "x-literal": True,
        },
        "tables": {
            "type": "object",
            "description": "Rows by table name: lists of objects.",
            "propertyNames": {"pattern": _IDENTIFIER},
            "additionalProperties": {"type": "array", "items": {"type": "object"}},
            "maxProperties": MAX_TABLES,
        },
        "columns": {
            "type": "object",
            "description": (
                "Types of columns by table and column name, where the rows cannot be trusted to"
                " show them: a word, or a JSON Schema."
            ),
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{"type": "string", "enum": list(WORDS)}, {"type": "object"}]
                },
            },
            "x-literal": True,
        },
    },
    "required": ["sql"],
    "additionalProperties": False,
}
_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "data": {"type": "array", "items": {"type": "object"}},
        "count": {"type": "integer", "minimum": 0},
    },
    "required": ["data", "count"],
    "additionalProperties": False,
}


async def _call(arguments: Arguments, limits: SqlLimits, check: Check) -> Json:
    call = _SqlCall(arguments, limits, check)
    try:
        return await run_in_thread(call.run, threads_of(NAME, _MOST_CALLS), on_cancel=call.stop)
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
