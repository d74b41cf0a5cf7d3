"""What the tool `sql` says of a call before it is made: its problems, or the type of its result.

The statement is bound to empty tables that have the columns of the referenced output schemas. No
row is ever read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json, Path
from toolplan.schema import Schema, SchemaError
from toolplan.schema.tool import ComputedOutput, Lineage
from toolplan_sql._binding import Binding, bind
from toolplan_sql._database import Database, opened, result_fault
from toolplan_sql._faults import SqlFault, Stopped
from toolplan_sql._lineage import lineage_of
from toolplan_sql._statement import Statement
from toolplan_sql._tables import Problem, Source, declare, given_tables, objects, unreadable
from toolplan_sql._times import zone_named
from toolplan_sql._types import Scalar, row_schema
from toolplan_sql._values import shown

_UNKNOWN: Final = ComputedOutput(None)
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
SKIPPED: Final[Json] = {
    "type": "object",
    "description": "The rows of each table that are null, as those of calls that failed.",
    "additionalProperties": {"type": "integer", "minimum": 1},
}
"""The schema of what a result says of rows that are null."""


class Check(Struct, frozen=True):
    """Checks calls of the tool; each check is limited to `memory_mb` and `seconds`.

    What the database is asked is only ever bound, never run.
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
    """Return which tables need declared columns, so that the statement also runs without rows."""
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
    return Schema.load(
        {
            "type": "object",
            "properties": {
                "data": {"type": "array", "items": row_schema(columns, counts)},
                "count": _COUNT,
                "zone": {"type": "string"},
                "skipped": SKIPPED,
            },
            "required": ["data", "count"],
            "additionalProperties": False,
        }
    )
