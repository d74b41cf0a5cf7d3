"""A DuckDB database for one statement: locked, and can be stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast

from toolplan.path import Json
from toolplan.sources.sql._faults import SqlFault, Stopped, parse_message, read_fault
from toolplan.sources.sql._functions import Functions, functions_of
from toolplan.sources.sql._nesting import TOO_DEEP, too_deep
from toolplan.sources.sql._results import reader
from toolplan.sources.sql._statement import CLOCK_WORDS, Statement, examine
from toolplan.sources.sql._types import (
    Columns,
    ColumnType,
    ListOf,
    Scalar,
    Struct,
    quoted,
    sql_type,
    structure,
)
from toolplan.sources.sql._values import storable

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType

if (
    find_spec("duckdb") is None
):  # it is loaded for the first statement; that it is missing is said now
    raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

MAX_TEXT: Final = 20_000
"""The longest statement, in characters."""

PLACEHOLDER: Final = "__no_columns__"
"""The one column of a table of which no column is known; it is in no result."""

_ROWS_AT_ONCE: Final = 20_000
_STOP_EVERY_S: Final = 0.05
_INTEGERS: Final = (
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
)
_SCALARS: Final[Mapping[str, Scalar]] = {
    **dict.fromkeys(_INTEGERS, Scalar.INTEGER),
    **dict.fromkeys(("float", "double", "decimal"), Scalar.NUMBER),
    **dict.fromkeys(("varchar", "enum", "uuid", "time"), Scalar.STRING),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), Scalar.DATE_TIME),
    "boolean": Scalar.BOOLEAN,
    "date": Scalar.DATE,
    "null": Scalar.UNKNOWN,
}


class ResultColumn(NamedTuple):
    """A column of a result; `type` None where JSON has no place for its values."""

    name: str
    type: ColumnType | None
    sql_type: str


class Database:
    """An empty database in memory, locked: no files, no network, no extensions, no settings.

    One thread at a time may use it; any thread may `stop` it.
    """

    def __init__(self, memory_mb: int) -> None:
        """Open it with at most `memory_mb` megabytes for tables and intermediate results."""
        self._library = _duckdb()
        self._connection: duckdb.DuckDBPyConnection = self._library.connect(
            ":memory:", config=_config(memory_mb)
        )
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("SET lock_configuration = true")  # last: no setting changes now
        self._stopped = threading.Event()
        self._closing = threading.Lock()
        self._closed = False
        self._created: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; closing twice does no harm."""
        with self._closing:
            self._closed = True
            self._connection.close()

    def clear(self) -> None:
        """Take away all tables.

        Raises:
            Stopped: it was stopped, and can be used no more.
        """
        for name in self._created:
            self._execute(f"DROP VIEW {quoted(name)}")
        self._created.clear()

    def stop(self) -> None:
        """Make what is running, and whatever would run next, end with `Stopped`."""
        self._stopped.set()
        with self._closing:
            if not self._closed:
                self._connection.interrupt()

    def statement(
        self, text: str, tables: Collection[str] | None, columns: Collection[str] = ()
    ) -> Statement:
        """Read `text`; what may not run is listed in the statement's `problems`.

        `tables` are the names that it may read, None where they are not known.
        """
        if problem := too_deep(text):
            return Statement(text, (problem,))
        if len(text) > MAX_TEXT:
            message = f"The statement has more than {MAX_TEXT} characters; shorten it."
            return Statement(text, (message,))
        try:
            found = self._connection.extract_statements(text)
        except self._library.Error as error:
            return Statement(text, (parse_message(str(error)),))
        if len(found) != 1:
            return Statement(text, (f"There must be one statement, not {len(found)}.",))
        if found[0].type != self._library.StatementType.SELECT:
            return Statement(text, (f"Only SELECT is allowed, not {_in_words(found[0])}.",))
        tree = self._tree(text)
        if isinstance(tree, str):
            return Statement(text, (tree,))
        return examine(text, tree, tables, columns, _functions())

    def _tree(self, text: str) -> Json:
        row = self._execute("SELECT json_serialize_sql(?)", [text]).fetchone()
        try:
            answer: Json = json.loads(row[0]) if row else None
        except RecursionError:
            return TOO_DEEP
        statements = answer.get("statements") if isinstance(answer, dict) else None
        if isinstance(statements, list) and len(statements) == 1:
            return statements[0]
        return "Only a plain SELECT is allowed (PIVOT needs the list of its values: IN (…))."

    def create(self, name: str, columns: Columns) -> None:
        """Create the empty table `name`, or replace it."""
        self._view(name, columns, {}, "(SELECT 1 WHERE false)")

    def load(
        self, name: str, columns: Columns, values: Mapping[str, Sequence[Json]], count: int
    ) -> None:
        """Fill the table `name` with `count` rows; `values` holds one list for each of `columns`.

        Raises:
            SqlFault: a value does not fit its column, or memory is full.
        """
        stored = [
            key for key, each in columns.items() if each is not Scalar.UNKNOWN and key in values
        ]
        rows = quoted(f"rows of {name}")
        typed = "".join(f", c{at} {sql_type(columns[key])}" for at, key in enumerate(stored))
        self._execute(f"CREATE TABLE {rows} (n BIGINT{typed})")
        read = "".join(", unnest(from_json_strict(?::JSON, ?))" for _ in stored)
        for start in range(0, count, _ROWS_AT_ONCE):
            end = min(start + _ROWS_AT_ONCE, count)
            parameters: list[object] = [start, end]
            for key in stored:
                part = storable(values[key][start:end], columns[key])
                parameters += [_json(part), json.dumps([structure(columns[key])])]
            self._execute(f"INSERT INTO {rows} SELECT unnest(range(?, ?)){read}", parameters)
        self._view(name, columns, {key: f"c{at}" for at, key in enumerate(stored)}, rows)

    def _view(self, name: str, columns: Columns, places: Mapping[str, str], rows: str) -> None:
        # A view, because a table can have no column of which nothing is known, not even its type.
        listed = [
            f"{places.get(key) or _null(each)} AS {quoted(key)}" for key, each in columns.items()
        ] or [f"NULL AS {quoted(PLACEHOLDER)}"]
        words = ("CREATE OR REPLACE VIEW", quoted(name), "AS SELECT", ", ".join(listed))
        self._execute(" ".join((*words, "FROM", rows)))
        self._created.add(name)

    def hide_clock(self) -> None:
        """Make words that read the clock fail wherever they name no column."""
        for name in sorted(CLOCK_WORDS):
            self._execute(
                f"CREATE OR REPLACE MACRO {quoted(name)}()"
                " AS error('A word that reads the clock is not allowed.')"
            )

    def bind(self, statement: Statement) -> list[ResultColumn]:
        """Return the columns that `statement` would give; no row is read.

        Raises:
            MissingColumn: it reads a column that is not there.
            SqlFault: its names or types do not fit the tables.
        """
        self._check_stopped()
        try:
            relation = self._connection.sql(statement.text)
            names, types = relation.columns, relation.types
        except self._library.Error as error:
            raise self._fault(error) from error
        return [
            ResultColumn(name, _column_type(each), str(each))
            for name, each in zip(names, types, strict=True)
            if name != PLACEHOLDER
        ]

    def reads(self, text: str, column: ColumnType) -> bool:
        """Return whether the text of a literal can be read as a value of `column`."""
        words = ("SELECT TRY_CAST(? AS", sql_type(column), ") IS NOT NULL")
        row = self._execute(" ".join(words), [text]).fetchone()
        return row is not None and row[0] is True

    def run(self, statement: Statement, max_rows: int) -> list[dict[str, Json]]:
        """Return the rows that `statement` gives.

        Raises:
            SqlFault: it fails, gives more than `max_rows` rows, or something that JSON cannot say.
        """
        columns = self.bind(statement)
        if fault := result_fault(columns):
            raise SqlFault(fault)
        result = self._execute(statement.text)
        names = [part[0] for part in result.description or ()]
        try:
            rows = result.fetchmany(max_rows + 1)
        except self._library.Error as error:
            raise self._fault(error) from error
        if len(rows) > max_rows:
            raise SqlFault(
                f"The statement gives more than {max_rows} rows; aggregate, or add a LIMIT."
            )
        readers = {column.name: reader(column.type or Scalar.JSON) for column in columns}
        shown = [(at, name, readers[name]) for at, name in enumerate(names) if name in readers]
        return [
            {name: row[at] if read is None else read(row[at]) for at, name, read in shown}
            for row in cast("list[tuple[Json, ...]]", rows)
        ]

    def _execute(
        self, text: str, parameters: Sequence[object] | None = None
    ) -> duckdb.DuckDBPyConnection:
        self._check_stopped()
        try:
            return self._connection.execute(text, parameters)
        except self._library.Error as error:
            raise self._fault(error) from error

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise Stopped("The statement was stopped.")

    def _fault(self, error: duckdb.Error) -> SqlFault:
        if self._stopped.is_set():
            return Stopped("The statement was stopped.")
        return read_fault(str(error))


class Stopwatch:
    """Stops a database after some seconds, unless the block that it guards is over by then."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._over = threading.Event()
        self._timer = threading.Timer(seconds, self._stop)
        self._timer.daemon = True
        self.ran_out = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._timer.cancel()
        self._timer.join()  # so that nothing is interrupted that is closed already

    def _stop(self) -> None:
        # More than once: an interruption just before a statement starts is lost.
        self.ran_out = True
        while not self._over.is_set():
            self._database.stop()
            self._over.wait(_STOP_EVERY_S)


def result_fault(columns: Sequence[ResultColumn]) -> str | None:
    """Return why a result with `columns` cannot become a list of JSON objects, or None."""
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            return f"Two columns of the result are named {column.name!r}; name one by AS."
        seen.add(column.name)
        if column.type is None:
            return (
                f"The column {column.name!r} of the result is of type {column.sql_type}, which JSON"
                " cannot say; turn it into another by CAST(… AS …)."
            )
    return None


def _in_words(statement: duckdb.Statement) -> str:
    name = statement.type.name
    return "a PIVOT without the list of its values, IN (…)" if name == "MULTI" else name


def _duckdb() -> ModuleType:
    """Return the library, loaded for the first statement: a plan without SQL does not wait."""
    return import_module("duckdb")


def _config(memory_mb: int) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "memory_limit": f"{memory_mb}MB",
        "temp_directory": "",
        # one thread: the same rows in the same order, and the same sums, each time
        "threads": "1",
    }


@lru_cache(maxsize=1)
def _functions() -> Functions:
    with _duckdb().connect(":memory:", config=_config(64)) as connection:
        rows: list[tuple[object, ...]] = connection.execute(
            "SELECT lower(function_name), function_type, coalesce(stability, '')"
            " FROM duckdb_functions() WHERE function_type NOT IN ('table', 'table_macro', 'pragma')"
        ).fetchall()
    return functions_of((str(name), str(kind), str(stability)) for name, kind, stability in rows)


def _null(column: ColumnType) -> str:
    return "NULL" if column is Scalar.UNKNOWN else f"CAST(NULL AS {sql_type(column)})"


def _json(values: Sequence[Json]) -> str:
    try:
        return json.dumps(values, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise SqlFault(f"A table holds what JSON cannot say: {error}.") from error


def _column_type(found: DuckDBPyType) -> ColumnType | None:
    name = str(found.id)
    if str(found) == "JSON":
        return Scalar.JSON
    if name in ("list", "array"):
        item = _column_type(found.child)
        return None if item is None else ListOf(item)
    if name == "struct":
        fields: list[tuple[str, ColumnType]] = []
        for key, part in found.children:
            each = _column_type(cast("DuckDBPyType", part))
            if each is None:
                return None
            fields.append((key, each))
        return Struct(tuple(fields))
    return _SCALARS.get(name)
