"""The built-in tool `sql`: one SELECT over the outputs of other steps, on an embedded DuckDB.

    {"sql": "SELECT carrier, count(*) AS n FROM shipments GROUP BY carrier",
     "tables": {"shipments": "${s0.data}"}}

gives `{"data": [{"carrier": …, "n": …}, …], "count": 2}`.

`compute_output` binds the statement to empty tables with the columns of the referenced output
schemas: what does not fit is a problem of the plan. What it may do, and how columns are typed, is
in the README of the distribution.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json, json_type
from toolplan.schema import SchemaError
from toolplan.schema.tool import Arguments, Effects, Tool, ToolError
from toolplan_sql._binding import Binding, bind, unreadable
from toolplan_sql._check import SKIPPED, Check
from toolplan_sql._database import Database
from toolplan_sql._faults import MissingColumn, SqlFault, Stopped
from toolplan_sql._functions import Call
from toolplan_sql._originals import (
    Column,
    Name,
    Originals,
    passed_on,
    require_literals,
    roundings,
)
from toolplan_sql._statement import Statement
from toolplan_sql._times import in_zone, zone_named
from toolplan_sql._types import (
    MAX_COLUMNS,
    MAX_TABLES,
    MAX_TEXT,
    WORDS,
    ColumnType,
    SqlLimits,
    Table,
    clash,
    declared_type,
    describe,
)
from toolplan_sql._values import (
    declared_readings,
    misfit,
    readings,
    shown,
    skipped,
    table_columns,
    table_rows,
)

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
        self._text = str(arguments.get("sql"))
        self._tables = _objects(arguments.get("tables"))
        self._columns = _objects(arguments.get("columns"))
        self._zone = arguments.get("zone")
        self._limits = limits
        self._database: Database | None = None
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        if self._database is not None:
            self._database.stop()

    def run(self) -> Json:
        self._check.rest()
        with Database(self._limits.memory_mb) as database:
            self._database = database
            if self._stopped:
                raise Stopped("The statement was stopped.")
            with database.limited(self._limits.seconds):
                try:
                    return self._run(database)
                finally:
                    self._database = None

    def _run(self, database: Database) -> Json:
        if problem := clash(self._tables, "The tables"):
            raise SqlFault(problem)
        given = {name: _rows(name, value) for name, value in self._tables.items()}
        rows = given if self._zone is None else _in_zone(given, self._zone)
        statement = database.statement(self._text, tuple(rows))
        if statement.problems:
            raise SqlFault(" ".join(statement.problems))
        read = {
            name: _Rows(name, rows[name], _objects(self._columns.get(name)), statement)
            for name in statement.tables
        }
        if mixed := unreadable({name: each.table for name, each in read.items()}):
            raise SqlFault(mixed)
        known = {
            name: Table(dict.fromkeys(each.names, ()), each.table.is_open)
            for name, each in read.items()
        }
        originals = Originals(
            (column for each in read.values() for column in each.columns if column.is_computed),
            [(name, key) for name, each in read.items() for key in each.names],
            database.lineage(statement, known),
            is_in_zone=self._zone is not None,
        )
        binding = _bound(database, statement, read, originals)
        for name, each in read.items():
            if each.count:
                database.load(name, binding.tables[name], each.values, each.count)
        result = database.run(statement, self._limits.rows)
        for column in () if originals.are_plain else binding.result:
            if write := originals.writer(column.name, column.type):
                for row in result:
                    row[column.name] = write(row[column.name])
        found: dict[str, Json] = {"data": list[Json](result), "count": len(result)}
        if counts := skipped(self._tables):
            found["skipped"] = counts
        return found if rows == given else found | {"zone": self._zone}


def _bound(
    database: Database, statement: Statement, read: Mapping[str, _Rows], originals: Originals
) -> Binding:
    """Bind `statement`, and refuse what it would round or misread.

    Which doubles it makes of large integers shows when these are doubles already: then it makes
    the fewer.
    """
    exact = originals.readings()
    tables = {
        name: replace(
            each.table,
            readings={key: exact.get((name, key), own) for key, own in each.table.readings.items()},
        )
        for name, each in read.items()
    }
    try:
        binding = bind(database, statement, tables)
    except MissingColumn as fault:
        names = [key for each in read.values() for key in each.names]
        hint = did_you_mean(near(fault.column, names)) or (
            "If rows may lack it, declare its type in 'columns'."
        )
        raise SqlFault(f"No row has a column {fault.column!r}. {hint}") from fault
    originals.require_clocks(binding.calls)
    require_literals(binding.calls)
    if roundings(binding.calls) and (doubles := originals.as_doubles(binding.tables)):
        others: tuple[Call, ...] = ()
        with suppress(SqlFault):  # a function that takes integers only
            others = bind(database, statement, doubles).calls
        for name, columns in binding.tables.items():
            database.create(name, columns)
        originals.require_exact(binding.calls, others)
    return binding


class _Rows:
    """The rows of one table by column: of the columns that the statement may read."""

    def __init__(
        self, name: str, rows: list[dict[str, Json]], columns: dict[str, Json], statement: Statement
    ) -> None:
        declared = {key: _declared(name, key, each) for key, each in columns.items()}
        names = dict.fromkeys([*declared, *(key for row in rows for key in row)])
        if problem := clash(names, f"In {name!r} the columns"):
            raise SqlFault(problem)
        self.count = len(rows)
        self.names = tuple(names)
        self.values = table_columns(rows, filter(statement.mentions, names))
        if len(self.values) > MAX_COLUMNS:
            raise SqlFault(f"The table {name!r} has more than {MAX_COLUMNS} columns.")
        self.columns = [
            _column((name, key), values, declared.get(key), statement)
            for key, values in self.values.items()
        ]
        self.table = Table({each.name[1]: each.readings for each in self.columns}, not rows)


def _column(
    name: Name, values: list[Json], declared: ColumnType | None, statement: Statement
) -> Column:
    if declared is None:
        found = readings(values, statement.use)
    elif (row := misfit(values, declared)) is None:
        found = declared_readings(declared, values, statement.use)
    else:
        raise SqlFault(
            f"The column {name[1]!r} of {name[0]!r} is declared as {describe(declared)}, and its"
            f" row {row} holds {json_type(values[row])}: {shown(values[row])}."
        )
    is_computed = statement.computes_with(name[1])
    is_met = statement.meets(name[1])
    column = Column(name, found, values, declared is not None, is_computed, is_met)
    return column if is_computed else column._replace(readings=passed_on(column))


def _declared(name: str, key: str, declared: Json) -> ColumnType:
    try:
        return declared_type(declared)
    except SchemaError as error:
        raise SqlFault(f"The type of {key!r} of {name!r} is not usable: {error}.") from error


def _objects(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _in_zone(
    rows: Mapping[str, list[dict[str, Json]]], name: Json
) -> dict[str, list[dict[str, Json]]]:
    zone = zone_named(name) if isinstance(name, str) else None
    if zone is None:
        raise SqlFault(f"There is no time zone {shown(name)}; write one as Europe/Berlin.")
    return {
        table: [{key: in_zone(value, zone) for key, value in row.items()} for row in each]
        for table, each in rows.items()
    }


def _rows(name: str, value: Json) -> list[dict[str, Json]]:
    rows = table_rows(value)
    if rows is None:
        raise SqlFault(f"The table {name!r} is no list of objects, no list of texts and no text.")
    return rows


_IDENTIFIER: Final = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"
_DEFAULT_LIMITS: Final = SqlLimits()


def sql_tool(limits: SqlLimits = _DEFAULT_LIMITS) -> Tool:
    """Return the tool `sql`, which limits each call by `limits`."""
    check = Check(limits.memory_mb, limits.seconds)

    async def call(arguments: Arguments) -> Json:
        return await call_sql(arguments, limits, check)

    return Tool(
        name="sql",
        description=(
            "Computes over the rows of other steps by one SQL SELECT (DuckDB): filters, groups,"
            " sorts, joins, rates, trends. FROM t, entries(t.prices) gives key and value of each"
            " field of an object. A text or a list of texts is a table of text and index; null rows"
            " are left out."
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


def try_sql() -> str:
    """Check and run one statement, as plans do; return what it says of the database.

    Raises:
        ToolError: it cannot be checked or run, or gives something else than it must.
    """
    check = Check(_DEFAULT_LIMITS.memory_mb, _DEFAULT_LIMITS.seconds)
    sql = (
        "SELECT CAST(date_trunc('month', day) AS DATE) AS month, sum(n + 1) AS n, max(id) AS id"
        " FROM t WHERE day >= '2026-01-01' GROUP BY 1"
    )
    rows: Json = [{"day": "2026-01-31", "n": 1, "id": 2**64}, {"day": "2025-01-31", "n": 2}]
    arguments: dict[str, Json] = {"sql": sql, "tables": {"t": rows}}
    if problems := check.compute_output(arguments, {}).problems:
        raise ToolError(" ".join(text for _, text in problems))
    found = asyncio.run(call_sql(arguments, _DEFAULT_LIMITS, check))
    row: Json = {"month": "2026-01-01", "n": 2, "id": 2**64}
    if found != {"data": [row], "count": 1}:
        raise ToolError(f"A statement gave {found}.")
    return "a statement gave what it must"


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
            "description": "Rows by table name: lists of objects, a text, or lists of texts.",
            "propertyNames": {"pattern": _IDENTIFIER},
            "additionalProperties": {
                "type": ["array", "string"],
                "items": {"type": ["object", "string", "null"]},
            },
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
        "zone": {
            "type": "string",
            "description": (
                "The time zone of days and hours, as Europe/Berlin: times that state a zone are"
                " read and given by its clocks. Without it each is read by its own."
            ),
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
        "zone": {"type": "string", "description": "The zone of times that were read in another."},
        "skipped": SKIPPED,
    },
    "required": ["data", "count"],
    "additionalProperties": False,
}
