"""The built-in tool `sql`: one SELECT over the outputs of other steps, on an embedded DuckDB.

    {"sql": "SELECT carrier, count(*) AS n FROM shipments GROUP BY carrier",
     "tables": {"shipments": "${s0.data}"}}

gives `{"data": [{"carrier": …, "n": …}, …], "count": 2}`.

`compute_output` binds the statement to empty tables with the columns of the referenced output
schemas: a misfit is a problem of the plan. The rules for statements, and the types of columns, are
in the README of the distribution.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json, Path
from toolplan.schema import Schema, SchemaError
from toolplan.schema.tool import Arguments, ComputedOutput, Effects, Lineage, Tool, ToolError
from toolplan_sql._database import Database, opened, result_fault
from toolplan_sql._faults import MissingColumn, SqlFault, Stopped
from toolplan_sql._functions import Call
from toolplan_sql._lineage import lineage_of
from toolplan_sql._originals import Originals, require_literals, roundings
from toolplan_sql._statement import Statement
from toolplan_sql._tables import (
    Binding,
    Problem,
    Source,
    bind,
    declare,
    given_tables,
    objects,
    unreadable,
)
from toolplan_sql._times import in_zone, zone_named
from toolplan_sql._types import (
    MAX_TABLES,
    MAX_TEXT,
    WORDS,
    Scalar,
    SqlLimits,
    Table,
    clash,
    schema_of,
)
from toolplan_sql._values import shown, skipped, table_rows

_UNKNOWN: Final = ComputedOutput(None)
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
SKIPPED: Final[Json] = {
    "type": "object",
    "description": "The rows of each table that are null, as those of calls that failed.",
    "additionalProperties": {"type": "integer", "minimum": 1},
}
"""The schema of a result's counts of rows that are null."""


class Check(Struct, frozen=True):
    """Checks calls of the tool; each check is limited to `memory_mb` and `seconds`.

    Statements are only ever bound in the database, never run.
    """

    memory_mb: int
    seconds: float

    def compute_output(
        self, literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> ComputedOutput:
        """Return the schema of the result, or the problems of the call.

        `literals` are the arguments that stand in the plan, of objects the fields that do;
        `schemas` are the schemas of the references by JSON pointer, `/tables/shipments`, None where
        one is not known.
        """
        text = literals.get("sql")
        if not isinstance(text, str):
            return _UNKNOWN
        tables = given_tables(literals.get("tables"), schemas)
        problems: list[Problem] = []
        zone = literals.get("zone")
        if isinstance(zone, str) and zone_named(zone) is None:
            problems.append(("/zone", f"There is no time zone {shown(zone)}."))
        if tables is not None:
            problems.extend(declare(tables, objects(literals.get("columns"))))
        try:
            with opened(self.memory_mb, self.seconds) as database:
                return _check(database, text, tables, problems)
        except SqlFault as fault:
            return ComputedOutput(None, (*problems, ("/sql", str(fault))))

    def compute_flow(
        self, literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> Callable[[Path], Lineage] | None:
        """Return the lineage of each path into the result, None where it cannot be followed.

        The arguments are those of `compute_output`.
        """
        text = literals.get("sql")
        tables = given_tables(literals.get("tables"), schemas)
        if not isinstance(text, str) or tables is None:
            return None
        try:
            known = {name: given.expected() for name, given in tables.items()}
            with opened(self.memory_mb, self.seconds) as database:
                statement = database.statement(text, None)
                found = lineage_of(statement.tree, known, database.functions().over_rows)
        except SqlFault:
            return None
        return None if found is None else found.at


def _check(
    database: Database, text: str, tables: Mapping[str, Source] | None, problems: list[Problem]
) -> ComputedOutput:
    statement = database.statement(text, None if tables is None else tuple(tables))
    found = (*problems, *(("/sql", problem) for problem in statement.problems))
    if found or tables is None:
        return ComputedOutput(None, found)
    read = {name: tables[name] for name in statement.tables}
    vague = any(given.is_vague for given in read.values())
    expected = {name: given.expected(statement.use) for name, given in read.items()}
    if mixed := unreadable(expected):
        return _refused(mixed)
    try:
        binding = bind(database, statement, expected)
    except Stopped:
        raise
    except SqlFault as fault:
        is_certain = fault.is_certain and statement.columns is not None
        return _refused(str(fault)) if is_certain or not vague else _UNKNOWN
    if unsayable := result_fault(binding.result):
        return _UNKNOWN if binding.guessed else _refused(unsayable)
    if wrong := database.misread(binding.calls):
        return _refused(*wrong)
    if not vague and (needed := _needs_columns(database, statement, read)):
        return _refused(needed)
    if vague and statement.columns is None:
        return _UNKNOWN
    try:
        return ComputedOutput(_result_schema(statement, binding))
    except SchemaError as error:
        return _refused(f"The result has no usable schema: {error}.")


def _refused(*why: str) -> ComputedOutput:
    return ComputedOutput(None, tuple(("/sql", each) for each in why))


def _needs_columns(
    database: Database, statement: Statement, tables: Mapping[str, Source]
) -> str | None:
    """Return the tables that need declared columns for the statement to run without rows too."""
    if all(given.rows for given in tables.values()):
        return None
    without_rows = {n: each.expected(statement.use, has_rows=False) for n, each in tables.items()}
    try:
        bind(database, statement, without_rows)
    except Stopped:
        raise
    except SqlFault:
        names = ", ".join(repr(name) for name, given in tables.items() if not given.rows)
        return (
            f"If {names} had no rows, the types of the columns would be unknown; declare those"
            " that the statement reads in 'columns'."
        )
    return None


def _result_schema(statement: Statement, binding: Binding) -> Schema:
    columns = [(column.name, column.type or Scalar.JSON) for column in binding.result]
    written = statement.width == len(columns)
    counts = frozenset(columns[at][0] for at in statement.counts) if written else frozenset[str]()
    if binding.guessed:
        columns = [(n, each if n in counts else Scalar.UNKNOWN) for n, each in columns]
    row: dict[str, Json] = {n: schema_of(each, nullable=n not in counts) for n, each in columns}
    items: Json = {
        "type": "object",
        "properties": row,
        "required": [*row],
        "additionalProperties": False,
    }
    return Schema.load(
        {
            "type": "object",
            "properties": {
                "data": {"type": "array", "items": items},
                "count": _COUNT,
                "zone": {"type": "string"},
                "skipped": SKIPPED,
            },
            "required": ["data", "count"],
            "additionalProperties": False,
        }
    )


_MOST_CALLS: Final = 32  # at the same time: each has a database in memory


class _SqlCall:
    """One call: made in the event loop, run in a thread, stopped from anywhere."""

    def __init__(self, arguments: Arguments, limits: SqlLimits) -> None:
        self._text = str(arguments.get("sql"))
        self._tables = objects(arguments.get("tables"))
        self._columns = objects(arguments.get("columns"))
        self._zone = arguments.get("zone")
        self._limits = limits
        self._lock = threading.Lock()  # a database that is done with has another user
        self._database: Database | None = None
        self._is_stopped = False

    async def answer(self) -> Json:
        """Return the rows; a ToolError where the statement cannot be run, or has too many."""
        threads = threads_of("sql", _MOST_CALLS)
        try:
            return await run_in_thread(self.run, threads, on_cancel=self.stop)
        except SqlFault as fault:
            raise ToolError(str(fault)) from fault

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._database is not None:
                self._database.stop()

    def run(self) -> Json:
        with opened(self._limits.memory_mb, self._limits.seconds) as database:
            with self._lock:
                if self._is_stopped:
                    raise Stopped("The statement was stopped.")
                self._database = database
            try:
                return self._run(database)
            finally:
                with self._lock:
                    self._database = None

    def _run(self, database: Database) -> Json:
        if problem := clash(self._tables, "The tables"):
            raise SqlFault(problem)
        given = {name: _rows(name, value) for name, value in self._tables.items()}
        rows = given if self._zone is None else _in_zone(given, self._zone)
        statement = database.statement(self._text, tuple(rows))
        if statement.problems:
            raise SqlFault(" ".join(statement.problems))
        sources = {name: Source(name, rows[name]) for name in statement.tables}
        declared = {name: each for name, each in self._columns.items() if name in sources}
        for _, problem in declare(sources, declared, statement):
            raise SqlFault(problem)
        names = {name: each.names for name, each in sources.items()}
        columns = {
            name: each.columns(filter(statement.mentions, names[name]), statement.use)
            for name, each in sources.items()
        }
        known = {name: Table(dict.fromkeys(names[name], ()), not rows[name]) for name in sources}
        originals = Originals(
            (column for each in columns.values() for column in each),
            [(name, key) for name, each in names.items() for key in each],
            lineage_of(statement.tree, known, database.functions().over_rows),
            is_in_zone=self._zone is not None,
        )
        binding = _bound(database, statement, known, originals)
        for name, listed in columns.items():
            if rows[name]:
                values = {column.name[1]: column.values for column in listed}
                database.load(name, binding.tables[name], values, len(rows[name]))
        result = database.run(statement, binding.result, binding.calls, self._limits.rows)
        for column in () if originals.are_plain else binding.result:
            if write := originals.writer(column.name, column.type):
                for row in result:
                    row[column.name] = write(row[column.name])
        found: dict[str, Json] = {"data": list[Json](result), "count": len(result)}
        if counts := skipped(self._tables):
            found["skipped"] = counts
        return found if rows == given else found | {"zone": self._zone}


def _bound(
    database: Database, statement: Statement, known: Mapping[str, Table], originals: Originals
) -> Binding:
    """Bind `statement`, and refuse values that it would round or misread.

    Which doubles it makes of large integers shows when these are doubles already: then it makes
    the fewer.
    """
    exact = originals.readings()
    tables = {
        name: Table(
            {key: exact[name, key] for key in table.readings if (name, key) in exact},
            table.is_open,
        )
        for name, table in known.items()
    }
    if problem := unreadable(tables):
        raise SqlFault(problem)
    try:
        binding = bind(database, statement, tables)
    except MissingColumn as fault:
        names = [key for each in known.values() for key in each.readings]
        hint = did_you_mean(near(fault.column, names)) or (
            "If rows may lack it, declare its type in 'columns'."
        )
        raise SqlFault(f"No row has a column {fault.column!r}. {hint}") from fault
    originals.require_clocks(binding.calls)
    originals.require_texts(binding.calls)
    require_literals(binding.calls)
    if roundings(binding.calls) and (doubles := originals.as_doubles(binding.tables)):
        others: tuple[Call, ...] = ()
        with suppress(SqlFault):  # a function that takes integers only
            others = bind(database, statement, doubles).calls
        for name, columns in binding.tables.items():
            database.create(name, columns)
        originals.require_exact(binding.calls, others)
    return binding


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
        return await _SqlCall(arguments, limits).answer()

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
    """Check and run one statement, as plans do; return a statement about the database.

    Raises:
        ToolError: it cannot be checked or run, or gives something else than it must.
    """
    check = Check(_DEFAULT_LIMITS.memory_mb, _DEFAULT_LIMITS.seconds)
    sql = (
        "SELECT CAST(date_trunc('month', day) AS DATE) AS month, sum(n::INT + 1) AS n,"
        " max(id) AS id FROM t WHERE day >= '2026-01-01' GROUP BY 1"
    )
    rows: Json = [{"day": "2026-01-31", "n": 1, "id": 2**64}, {"day": "2025-01-31", "n": 2}]
    arguments: dict[str, Json] = {"sql": sql, "tables": {"t": rows}}
    if problems := check.compute_output(arguments, {}).problems:
        raise ToolError(" ".join(text for _, text in problems))
    found = asyncio.run(_SqlCall(arguments, _DEFAULT_LIMITS).answer())
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
