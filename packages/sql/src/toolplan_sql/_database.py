"""A DuckDB database for one statement: in a process of its own, locked, and can be stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from msgspec import Struct, convert

from toolplan.plan.path import Json
from toolplan_sql._faults import Exhausted, SqlFault, Stopped
from toolplan_sql._functions import CAST, Call, Functions, Overload, functions_of
from toolplan_sql._lineage import Lost, StatementLineage
from toolplan_sql._process import Process, release, take
from toolplan_sql._statement import TOO_DEEP, Statement, examine, too_deep
from toolplan_sql._tree import Node
from toolplan_sql._types import (
    MAX_TEXT,
    Columns,
    ColumnType,
    Scalar,
    Table,
    quoted,
    sql_type,
)
from toolplan_sql._values import shown, storable

_NO_COLUMNS: Final = "__no_columns__"
"""The one column of a table of which no column is known; it is in no result."""

_ROWS_AT_ONCE: Final = 20_000
_SLACK_MB: Final = 64
"""What a process may use besides, for texts that come and go."""

_WORDS: Final = {
    **dict.fromkeys(("BIGINT", "HUGEINT", "INTEGER"), "integer"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "number",
    "TIMESTAMP": "date-time",
}
"""Types of which a text that stands in the statement must be a value, with their words."""
_FUNCTIONS: Final[list[Functions]] = []  # the one of the library, once it is known


_CONFIG: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    # one thread: the same rows in the same order, and the same sums, each time
    "threads": "1",
}


class ResultColumn(Struct, frozen=True, array_like=True):
    """A column of a result; `type` None where JSON has no place for its values."""

    name: str
    type: ColumnType | None
    sql_type: str


class Bound(Struct, frozen=True, array_like=True):
    """A statement bound: the columns that it gives, and the functions that it calls."""

    columns: tuple[ResultColumn, ...]
    calls: tuple[Call, ...]


class Database:
    """An empty database in memory, locked: no files, no network, no extensions, no settings.

    One thread at a time may use it; any thread may `stop` it.
    """

    def __init__(self, memory_mb: int) -> None:
        """Open it in a process that may use about `memory_mb` megabytes.

        Raises:
            SqlFault: no process can be started.
        """
        self._stopped = False
        self._closing = threading.Lock()
        self._closed = False
        self._created: set[str] = set()
        self._process = take(memory_mb)
        config = _CONFIG | {"memory_limit": f"{memory_mb}MB"}
        opening = ("open", config, memory_mb + _SLACK_MB)
        try:
            self._process.ask(*opening)
        except Exhausted:  # it ended while it was idle
            self._process = Process(memory_mb)
            self._process.ask(*opening)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        """Whether its process has not ended."""
        return self._process.is_alive

    def close(self) -> None:
        """Close it; closing twice does no harm."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        try:
            is_good = not self._stopped and self._process.ask("close") is True
        except SqlFault:
            is_good = False
        if is_good:
            release(self._process)
        else:
            self._process.kill()

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
        with self._closing:
            if not self._closed:
                self._stopped = True
                self._process.kill()

    @contextmanager
    def limited(self, seconds: float) -> Generator[None]:
        """Stop the database after `seconds`, unless the block is over by then.

        Raises:
            SqlFault: it was stopped so.
        """
        ran_out = threading.Event()

        def stop() -> None:
            ran_out.set()
            self.stop()

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Stopped as fault:
            if ran_out.is_set():
                raise SqlFault(f"The statement took longer than {seconds:g} s.") from fault
            raise
        finally:
            timer.cancel()
            timer.join()  # it could stop the next user of this database

    def statement(self, text: str, tables: Collection[str] | None) -> Statement:
        """Read `text`; what may not run is listed in the statement's `problems`.

        `tables` are the names that it may read, None where they are not known.
        """
        try:
            tree = self._tree(text)
        except Stopped:
            raise
        except SqlFault as fault:
            return Statement(text, (str(fault),))
        return examine(text, tree, tables, self._functions())

    def lineage(self, statement: Statement, tables: Mapping[str, Table]) -> StatementLineage | None:
        """Return the lineage of the result of `statement`, None where it cannot be followed."""
        try:
            return StatementLineage(statement.tree, tables, self._functions().over_rows)
        except (Lost, RecursionError):
            return None

    def _tree(self, text: str) -> Node:
        """Return the syntax tree of `text`.

        Raises:
            SqlFault: it is not one SELECT that can be parsed safely.
        """
        if problem := too_deep(text):
            raise SqlFault(problem)
        if len(text) > MAX_TEXT:
            raise SqlFault(f"The statement has more than {MAX_TEXT} characters; shorten it.")
        try:
            kinds = convert(self._ask("statements", text), list[str])
        except Stopped:
            raise
        except SqlFault as fault:
            raise SqlFault(f"The statement is not SQL: {fault}") from fault
        if len(kinds) != 1:
            raise SqlFault(f"There must be one statement, not {len(kinds)}.")
        if kinds[0] != "SELECT":
            is_pivot = kinds[0] == "MULTI"
            found = "a PIVOT without the list of its values, IN (…)" if is_pivot else kinds[0]
            raise SqlFault(f"Only SELECT is allowed, not {found}.")
        row = self._execute("SELECT json_serialize_sql(?)", [text])
        try:
            answer: Json = json.loads(str(row[0])) if row else None
        except RecursionError as error:
            raise SqlFault(TOO_DEEP) from error
        match answer:
            case {"statements": [dict() as tree]}:
                return tree
            case _:
                raise SqlFault(
                    "Only a plain SELECT is allowed (PIVOT needs the list of its values: IN (…))."
                )

    def _functions(self) -> Functions:
        if not _FUNCTIONS:
            rows = convert(self._ask("functions"), list[Overload])
            _FUNCTIONS.append(functions_of(rows))
        return _FUNCTIONS[0]

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
        read = "".join(f", unnest(CAST(?::JSON AS {sql_type(columns[key])}[]))" for key in stored)
        for start in range(0, count, _ROWS_AT_ONCE):
            end = min(start + _ROWS_AT_ONCE, count)
            held = (storable(values[key][start:end], columns[key]) for key in stored)
            try:
                parts = [json.dumps(each, allow_nan=False) for each in held]
            except (ValueError, RecursionError) as error:
                raise SqlFault(f"A table holds what JSON cannot say: {error}.") from error
            self._execute(
                f"INSERT INTO {rows} SELECT unnest(range(?, ?)){read}", [start, end, *parts]
            )
        self._view(name, columns, {key: f"c{at}" for at, key in enumerate(stored)}, rows)

    def _view(self, name: str, columns: Columns, places: Mapping[str, str], rows: str) -> None:
        # A view, because a table can have no column of which nothing is known, not even its type.
        listed = [f"NULL AS {quoted(_NO_COLUMNS)}"] if not columns else []
        for key, each in columns.items():
            null = "NULL" if each is Scalar.UNKNOWN else f"CAST(NULL AS {sql_type(each)})"
            listed.append(f"{places.get(key) or null} AS {quoted(key)}")
        words = ("CREATE OR REPLACE VIEW", quoted(name), "AS SELECT", ", ".join(listed))
        self._execute(" ".join((*words, "FROM", rows)))
        self._created.add(name)

    def bind(self, statement: Statement) -> Bound:
        """Return what `statement` would give; no row is read.

        Raises:
            MissingColumn: it reads a column that is not there.
            SqlFault: its names or types do not fit the tables, or it calls what it may not.
        """
        bound = convert(self._ask("bind", statement.text), Bound)
        if problem := self._functions().problem(bound.calls):
            raise SqlFault(problem)
        return bound

    def misread(self, calls: Iterable[Call]) -> list[str]:
        """Return a sentence on each literal that cannot be read as the type that it is cast to."""
        found: list[str] = []
        for call in dict.fromkeys(calls):
            word = _WORDS.get(call.result)
            if word and call.literal and call.name == CAST:
                words = ("SELECT TRY_CAST(? AS", call.result, ") IS NOT NULL")
                row = self._execute(" ".join(words), [call.literal])
                if row != [True]:
                    found.append(f"{shown(call.literal)} is no {word}.")
        return found

    def run(self, statement: Statement, max_rows: int) -> list[dict[str, Json]]:
        """Return the rows that `statement` gives.

        Raises:
            SqlFault: it fails, gives more than `max_rows` rows, or something that JSON cannot say.
        """
        columns, rows = convert(
            self._ask("run", statement.text, max_rows),
            tuple[list[ResultColumn], list[list[Any]] | None],
        )
        if fault := result_fault(columns):
            raise SqlFault(fault)
        if rows is None:
            raise SqlFault(
                f"The statement gives more than {max_rows} rows; aggregate, or add a LIMIT."
            )
        names = [each.name for each in columns]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _execute(self, text: str, parameters: Sequence[object] | None = None) -> list[Json] | None:
        """Return the first row of `text`, None where it has none."""
        return convert(self._ask("execute", text, parameters), list[Any] | None)

    def _ask(self, operation: str, *arguments: object) -> Json:
        try:
            if not self._stopped:
                return self._process.ask(operation, *arguments)
        except Exhausted:
            if not self._stopped:
                raise
        raise Stopped("The statement was stopped.")


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
