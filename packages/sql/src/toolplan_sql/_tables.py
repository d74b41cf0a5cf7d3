"""The tables of a call: the known facts about each, and the type that each column is read as.

Before a run the schemas of references show the columns of a table, and in it its rows, but not
always enough: a column may be null in every row, a table may be empty, and text that looks like
dates may be meant as text. The statement decides. Each column comes with the readings that it
may have, the best first; the first combination that the database can bind the statement with is
taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json, json_type
from toolplan.schema import Schema, SchemaError
from toolplan_sql._database import Database, ResultColumn
from toolplan_sql._faults import MissingColumn, SqlFault, Stopped
from toolplan_sql._functions import Call
from toolplan_sql._statement import Statement, no_table
from toolplan_sql._types import (
    MAX_COLUMNS,
    Columns,
    ColumnType,
    MapOf,
    Scalar,
    Table,
    agrees,
    clash,
    declared_type,
    describe,
    is_partial,
    row_type,
)
from toolplan_sql._values import (
    AS_ENTRIES,
    UNSEEN,
    Use,
    maps_of,
    marked,
    misfit,
    readings,
    shown,
    table_rows,
)

Name: TypeAlias = tuple[str, str]
"""A table and a column, as they are written."""
Problem: TypeAlias = tuple[str, str]
"""A JSON pointer to an argument, and a sentence on it."""

_ANY_USE: Final = Use()


class Column(NamedTuple):
    """A column of rows: the types that it may be read as, and its values, one for each row."""

    name: Name
    readings: tuple[ColumnType, ...]
    values: Sequence[Json]
    is_declared: bool = False

    @property
    def words(self) -> str:
        return f"column {self.name[1]!r} of {self.name[0]!r}"


class Source(Struct, frozen=True):
    """The known facts about one table.

    `rows` are there in a run, and for literal tables; `row` holds the facts in the schema of a
    reference to rows. Neither: nothing is known. `declared` are the columns that `columns`
    declares.
    """

    name: str
    rows: list[dict[str, Json]] | None = None
    row: Table | None = None
    declared: Columns = field(default_factory=dict[str, ColumnType])

    @property
    def names(self) -> tuple[str, ...]:
        known = self.row.readings if self.row is not None else ()
        rows = (key for row in self.rows or () for key in row)
        return tuple(dict.fromkeys([*self.declared, *rows, *known]))

    @property
    def is_vague(self) -> bool:
        """Whether the table may have undeclared columns."""
        if self.rows is not None:
            return not self.rows
        return self.row is None or self.row.is_open

    def columns(self, names: Iterable[str], use: Use = _ANY_USE) -> tuple[Column, ...]:
        """Return the columns `names` of the rows, for that use; a SqlFault if they are too many."""
        found: list[Column] = []
        for key in names:
            values = [row.get(key) for row in self.rows or ()]
            declared = self.declared.get(key)
            if declared is None:
                read = readings(values, use)
            elif self.rows:
                column = marked(declared, values)
                read = () if is_partial(column) and use.keys else (column,)
                if column is Scalar.JSON:
                    read = (column, *maps_of(values, use))
            else:
                read = _known(declared, use)
            found.append(Column((self.name, key), read, values, declared is not None))
        if len(found) > MAX_COLUMNS:
            raise SqlFault(f"The table {self.name!r} has more than {MAX_COLUMNS} columns.")
        return tuple(found)

    def expected(self, use: Use = _ANY_USE, *, has_rows: bool = True) -> Table:
        """Return the table as its schema or its rows describe it, for a statement of that use.

        Without `has_rows` it is as a run would see it if it had none.
        """
        if self.rows:
            columns = self.columns(self.names, use)
            return Table({each.name[1]: each.readings for each in columns})
        known: dict[str, ColumnType] = {}
        if self.row is not None and has_rows:
            known = {name: each[0] for name, each in self.row.readings.items()}
        known |= self.declared
        is_open = self.is_vague or not has_rows
        return Table({name: _known(each, use) for name, each in known.items()}, is_open)

    def disagreement(self, key: str) -> str | None:
        """Return why the column `key` cannot have its declared type, or None."""
        declared = self.declared[key]
        values = [row.get(key) for row in self.rows or ()]
        if (row := misfit(values, declared)) is not None:
            return (
                f"The column {key!r} of {self.name!r} is declared as {describe(declared)}, and its"
                f" row {row} holds {json_type(values[row])}: {shown(values[row])}."
            )
        if self.row is None:
            return None
        known, *_ = self.row.readings.get(key, (None,))
        if known is None:
            hint = did_you_mean(near(key, self.row.readings))
            missing = f"The table has no column {key!r}." + (f" {hint}" if hint else "")
            return None if self.row.is_open else missing
        if agrees(declared, known):
            return None
        return f"It is declared as {describe(declared)}, and the table gives {describe(known)}."


def _known(column: ColumnType, use: Use) -> tuple[ColumnType, ...]:
    """Return the readings of a column whose type a schema or a declaration states."""
    match column:
        case Scalar.JSON if use.entries:
            return column, *AS_ENTRIES
        case Scalar.UNKNOWN:
            return UNSEEN
        case MapOf():
            return column, Scalar.JSON
        case _:
            return (column,)


def objects(value: Json) -> dict[str, Json]:
    """Return `value` as an object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def given_tables(literal: Json, schemas: Mapping[str, Schema | None]) -> dict[str, Source] | None:
    """Return the facts known about each table before a run; None where the names are unknown."""
    if "/tables" in schemas:
        return None
    tables = {name: Source(name, table_rows(value)) for name, value in objects(literal).items()}
    for pointer, schema in schemas.items():
        match split_pointer(pointer):
            case ["tables", name]:
                row = None if schema is None else row_type(schema)
                tables[name] = Source(name, row=row)
            case ["tables", name, *_]:
                tables[name] = Source(name)
            case _:
                pass
    return tables


def declare(
    tables: dict[str, Source], columns: Mapping[str, Json], statement: Statement | None = None
) -> Iterator[Problem]:
    """Put the declared `columns` into `tables`; yield their problems.

    With `statement`, values of columns count that it may read, else all.
    """
    for name, listed in columns.items():
        place = f"/columns/{escape_pointer(name)}"
        if name not in tables:
            yield place, no_table(name, tables)
            continue
        declared: dict[str, ColumnType] = {}
        for key, word in objects(listed).items():
            try:
                declared[key] = declared_type(word)
            except SchemaError as error:
                problem = f"The type of {key!r} of {name!r} is not usable: {error}."
                yield f"{place}/{escape_pointer(key)}", problem
        tables[name] = source = replace(tables[name], declared=declared)
        for key in declared:
            is_read = statement is None or statement.mentions(key)
            if is_read and (problem := source.disagreement(key)):
                yield f"{place}/{escape_pointer(key)}", problem
    if problem := clash(tables, "The tables"):
        yield "/tables", problem
    for name, source in tables.items():
        if problem := clash(source.names, f"In {name!r} the columns"):
            yield f"/tables/{escape_pointer(name)}", problem


def unreadable(tables: Mapping[str, Table]) -> str | None:
    """Return why a column has no reading that the statement can use, or None."""
    for name, table in tables.items():
        for column, each in table.readings.items():
            if not each:
                return (
                    f"The objects of the column {column!r} of {name!r} have different keys, and the"
                    " statement reads both fields and keys of objects. Declare it as 'json' in"
                    f" 'columns', and read its fields by {column}->>'name'."
                )
    return None


_MOST_TRIALS: Final = 400
_MOST_CHANGED: Final = 4
_MOST_FOUND: Final = 200

_Change: TypeAlias = tuple[str, str, ColumnType]


class Binding(Struct, frozen=True):
    """A statement bound: the type of each column of each table, and the columns of the result.

    `guessed`: the statement's input was only partly known, so that types of the result are not.
    """

    tables: Mapping[str, Mapping[str, ColumnType]]
    result: tuple[ResultColumn, ...]
    calls: tuple[Call, ...]
    guessed: bool


def bind(database: Database, statement: Statement, tables: Mapping[str, Table]) -> Binding:
    """Make `tables` in `database`, without rows, so that `statement` can be bound.

    Raises:
        SqlFault: no reading of the columns fits the statement; it states the fault of the best.
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
            result, calls = database.bind(statement)
            return Binding(chosen, result, calls, _has_guesses(statement, tables, chosen))
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
    """Yield changes of columns from their first readings: of one column, then two, and so on."""
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
