"""What the tool `sql` says of a call before it is made: its problems, or the type of its result.

The statement is bound to empty tables that have the columns of the referenced output schemas. No
row is ever read here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json, Path
from toolplan.schema import Schema, SchemaError
from toolplan.schema.tool import ComputedOutput, Lineage
from toolplan_sql._binding import Binding, bind, unreadable
from toolplan_sql._database import Database, result_fault
from toolplan_sql._faults import SqlFault, Stopped
from toolplan_sql._statement import Statement, no_table
from toolplan_sql._times import zone_named
from toolplan_sql._types import (
    Columns,
    ColumnType,
    MapOf,
    Scalar,
    Table,
    agrees,
    clash,
    declared_type,
    describe,
    row_schema,
    row_type,
)
from toolplan_sql._values import (
    AS_ENTRIES,
    UNSEEN,
    Use,
    declared_readings,
    misfit,
    readings,
    shown,
    table_columns,
    table_rows,
)

Problem: TypeAlias = tuple[str, str]

_ANY_USE: Final = Use()
_UNKNOWN: Final = ComputedOutput(None)
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
SKIPPED: Final[Json] = {
    "type": "object",
    "description": "The rows of each table that are null, as those of calls that failed.",
    "additionalProperties": {"type": "integer", "minimum": 1},
}
"""The schema of what a result says of rows that are null."""


class _Given(Struct, frozen=True):
    """What is known of one table.

    `rows` are there where they stand in the plan; `row` is what the schema of a reference says of
    them. Neither: nothing is known. `declared` are the columns that the plan declares.
    """

    rows: list[dict[str, Json]] | None = None
    row: Table | None = None
    declared: Columns = field(default_factory=dict[str, ColumnType])

    @property
    def is_vague(self) -> bool:
        """Whether the table may have undeclared columns."""
        if self.rows is not None:
            return not self.rows
        return self.row is None or self.row.is_open

    def expected(self, use: Use = _ANY_USE, *, has_rows: bool = True) -> Table:
        """Return the table as its schema or its rows describe it, for a statement of that use.

        Without `has_rows` it is as a run would see it if it had none.
        """
        if self.rows:
            columns = table_columns(self.rows) | table_columns(self.rows, self.declared)
            return Table(
                {
                    name: declared_readings(self.declared[name], values, use)
                    if name in self.declared
                    else readings(values, use)
                    for name, values in columns.items()
                }
            )
        known: dict[str, ColumnType] = {}
        if self.row is not None and has_rows:
            known = {name: each[0] for name, each in self.row.readings.items()}
        known |= self.declared
        is_open = self.is_vague or not has_rows
        return Table({name: _known(each, use) for name, each in known.items()}, is_open)


def _known(column: ColumnType, use: Use) -> tuple[ColumnType, ...]:
    """Return the readings of a column whose type a schema says, or a declaration."""
    match column:
        case Scalar.JSON if use.entries:
            return column, *AS_ENTRIES
        case Scalar.UNKNOWN:
            return UNSEEN
        case MapOf():
            return column, Scalar.JSON
        case _:
            return (column,)


class Check:
    """Checks calls of the tool; each check is limited to `memory_mb` and `seconds`.

    One database is kept between checks, because opening one takes longer than most checks do. It
    is empty then, and what it is asked is only ever bound, never run.
    """

    def __init__(self, memory_mb: int, seconds: float) -> None:
        self._memory_mb = memory_mb
        self._seconds = seconds
        self._idle: deque[Database] = deque()

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
        tables = _given_tables(literals.get("tables"), schemas)
        problems: list[Problem] = []
        zone = literals.get("zone")
        if isinstance(zone, str) and zone_named(zone) is None:
            problems.append(("/zone", f"There is no time zone {shown(zone)}."))
        if tables is not None:
            declared = literals.get("columns")
            problems.extend(_declare(declared if isinstance(declared, dict) else {}, tables))
        try:
            with self._opened() as database:
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
        tables = _given_tables(literals.get("tables"), schemas)
        if not isinstance(text, str) or tables is None:
            return None
        known = {name: given.expected() for name, given in tables.items()}
        try:
            with self._opened() as database:
                found = database.lineage(database.statement(text, None), known)
        except SqlFault:
            return None
        return None if found is None else found.at

    def rest(self) -> None:
        """Let a call have the process of the database that is kept; it need not start one."""
        with suppress(IndexError):
            self._idle.pop().close()

    @contextmanager
    def _opened(self) -> Generator[Database]:
        """Yield an empty database for the time of a check; it is kept unless the check fails."""
        database = self._idle.pop() if self._idle else Database(self._memory_mb)
        if not database.is_alive:
            database.close()
            database = Database(self._memory_mb)
        try:
            with database.limited(self._seconds):
                yield database
            database.clear()
        except BaseException:
            database.close()
            raise
        if self._idle:  # two checks at once, in two threads
            database.close()
        else:
            self._idle.append(database)


def _check(
    database: Database, text: str, tables: Mapping[str, _Given] | None, problems: list[Problem]
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


def _given_tables(literal: Json, schemas: Mapping[str, Schema | None]) -> dict[str, _Given] | None:
    """Return what is known of each table; None where not even their names are."""
    if "/tables" in schemas:
        return None
    given = literal if isinstance(literal, dict) else {}
    tables = {name: _Given(rows=table_rows(value)) for name, value in given.items()}
    for pointer, schema in schemas.items():
        match split_pointer(pointer):
            case ["tables", name]:
                tables[name] = _Given(row=None if schema is None else row_type(schema))
            case ["tables", name, *_]:
                tables[name] = _Given()
            case _:
                pass
    return tables


def _declare(columns: Mapping[str, Json], tables: dict[str, _Given]) -> Iterator[Problem]:
    """Put the declared `columns` into `tables`; yield what is wrong with them."""
    for name, listed in columns.items():
        place = f"/columns/{escape_pointer(name)}"
        if name not in tables:
            yield place, no_table(name, tables)
            continue
        declared: dict[str, ColumnType] = {}
        for key, word in (listed if isinstance(listed, dict) else {}).items():
            where = f"{place}/{escape_pointer(key)}"
            try:
                each = declared_type(word)
            except SchemaError as error:
                yield where, f"It is not a usable type: {error}."
                continue
            if problem := _disagreement(key, each, tables[name]):
                yield where, problem
            declared[key] = each
        tables[name] = _Given(tables[name].rows, tables[name].row, declared)
    if problem := clash(tables, "The tables"):
        yield "/tables", problem
    for name, given in tables.items():
        if problem := clash(given.expected().readings, "Its columns"):
            yield f"/tables/{escape_pointer(name)}", problem


def _disagreement(key: str, declared: ColumnType, given: _Given) -> str | None:
    values = [row.get(key) for row in given.rows or ()]
    if (row := misfit(values, declared)) is not None:
        return f"It is declared as {describe(declared)}, and row {row} holds {shown(values[row])}."
    if given.row is None:
        return None
    known, *_ = given.row.readings.get(key, (None,))
    if known is None:
        hint = did_you_mean(near(key, given.row.readings))
        missing = f"The table has no column {key!r}." + (f" {hint}" if hint else "")
        return None if given.row.is_open else missing
    if agrees(declared, known):
        return None
    return f"It is declared as {describe(declared)}, and the table gives {describe(known)}."


def _needs_columns(
    database: Database, statement: Statement, tables: Mapping[str, _Given]
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
