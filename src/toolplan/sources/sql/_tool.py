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
in every row, with a zone or without), lists, objects. Text that looks like dates is still taken as
text where the statement cannot be bound otherwise. A column that is null in every row, and every
column of a table without rows, is taken as whatever the statement needs: a grouping over no rows
gives no rows, and `count(*)` over them 0. The check makes sure that such a reading exists.

**Values leave as they came.** A column that the statement only passes on keeps the text of its
values. One that it compares gets the type that holds each value exactly (64 or 128 bits, doubles,
decimals of 38 digits), or the call fails and names the value. Times of one zone are compared as
their clocks show them, so days are those of the zone that they state; times of several zones as
moments, or by their clocks where that is the same; where neither is exact, the call fails.

**`columns`** says it once for all where values cannot be trusted to: `{"shipments": {"date":
"date", "weight_kg": "number"}}`, with one of `WORDS` or a JSON Schema for each column. A declared
column has its type in every run, exists even when no row has it, and a value that does not fit
fails the step. The check holds the declarations against the referenced schemas. Planners are best
advised to declare every column that their statement reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from toolplan.path import Json, Path
from toolplan.schema import Schema
from toolplan.sources.sql._calls import call_sql
from toolplan.sources.sql._check import Check
from toolplan.sources.sql._types import MAX_TABLES, MAX_TEXT, WORDS, SqlLimits
from toolplan.tools import Arguments, ComputedOutput, Effects, Lineage, Tool, ToolError

NAME: Final = "sql"

_IDENTIFIER: Final = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"
_DEFAULT_LIMITS: Final = SqlLimits()


def sql_tool(limits: SqlLimits = _DEFAULT_LIMITS) -> Tool:
    """Return the tool `sql`, which limits each call by `limits`."""
    statements = _Statements(limits)
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
        call=statements.call,
        compute_output=statements.compute_output,
        compute_flow=statements.compute_flow,
        source="builtin",
    )


def try_sql() -> str:
    """Check and run one statement, as plans do; return what it says of the database.

    Raises:
        ToolError: it cannot be checked or run, or gives something else than it must.
    """
    tool = _Statements(_DEFAULT_LIMITS)
    sql = (
        "SELECT CAST(date_trunc('month', day) AS DATE) AS month, sum(n + 1) AS n, max(id) AS id"
        " FROM t WHERE day >= '2026-01-01' GROUP BY 1"
    )
    rows: Json = [{"day": "2026-01-31", "n": 1, "id": 2**64}, {"day": "2025-01-31", "n": 2}]
    arguments: dict[str, Json] = {"sql": sql, "tables": {"t": rows}}
    if problems := tool.compute_output(arguments, {}).problems:
        raise ToolError(" ".join(text for _, text in problems))
    found = asyncio.run(tool.call(arguments))
    row: Json = {"month": "2026-01-01", "n": 2, "id": 2**64}
    if found != {"data": [row], "count": 1}:
        raise ToolError(f"A statement gave {found}.")
    return "a statement gave what it must"


class _Statements:
    """The functions of the tool."""

    def __init__(self, limits: SqlLimits) -> None:
        self._limits = limits
        self._check = Check(limits.memory_mb, limits.seconds)

    async def call(self, arguments: Arguments) -> Json:
        return await call_sql(arguments, self._limits, self._check)

    def compute_output(
        self, literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> ComputedOutput:
        return self._check.compute_output(literals, schemas)

    def compute_flow(
        self, literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]
    ) -> Callable[[Path], Lineage] | None:
        return self._check.compute_flow(literals, schemas)


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
    },
    "required": ["data", "count"],
    "additionalProperties": False,
}
