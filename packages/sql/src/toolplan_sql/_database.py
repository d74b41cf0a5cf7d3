"""A DuckDB database in a process of its own: locked, bounded, and it can be stopped.

DuckDB counts only part of the memory of a statement that is bound or run. So it runs in a
process of its own (`_child.py`) with a bound on its memory that the system holds: one that takes
too much or too long is killed, and this program lives. A database that did no harm is emptied and
used again, because starting one takes longer than most statements do.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, convert

from toolplan.plan.path import Json
from toolplan_sql._faults import Exhausted, SqlFault, Stopped, read_fault
from toolplan_sql._functions import CAST, Call, Functions, Overload, functions_of
from toolplan_sql._guards import guarded
from toolplan_sql._statement import (
    TOO_DEEP,
    Node,
    Statement,
    examine,
    nodes_of,
    text_of,
    too_deep,
)
from toolplan_sql._types import MAX_TEXT, Columns, ColumnType, Scalar, quoted, sql_type
from toolplan_sql._values import shown, storable

_SCRIPT: Final = Path(__file__).with_name("_child.py")
_MOST_IDLE: Final = 4
_NO_MEMORY: Final = re.compile("Out of Memory|Allocation failure|ailed to allocate|bad_alloc")
_INHERITED: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR")
"""Variables that loading the library may need; others, such as keys, are not passed on."""

_NO_COLUMNS: Final = "__no_columns__"
"""The one column of a table of which no column is known; it is in no result."""

_ROWS_AT_ONCE: Final = 20_000
_SLACK_MB: Final = 64
"""Additional memory of a process, for texts that come and go."""

_WORDS: Final = {
    **dict.fromkeys(("BIGINT", "HUGEINT", "INTEGER"), "integer"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "number",
    "TIMESTAMP": "date-time",
}
"""Types whose literals in the statement must be valid, with their words."""

_FUNCTIONS: Final[list[Functions]] = []  # those of the library, once they are known

_CONFIG: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "ieee_floating_point_ops": "false",  # a division by zero is an error, of fractions too
    # one thread: the same rows in the same order, and the same sums, each time
    "threads": "1",
}


class ResultColumn(Struct, frozen=True, array_like=True):
    """A column of a result; `type` None where JSON has no place for its values."""

    name: str
    type: ColumnType | None
    sql_type: str


class Database:
    """An empty database in memory: no files, no network, no extensions, no settings.

    One thread at a time may use it; any thread may `stop` it. After any error but a fault of the
    database it is stopped.
    """

    def __init__(self, memory_mb: int) -> None:
        """Start it in a process of about `memory_mb` megabytes; a SqlFault where none can start."""
        self.memory_mb = memory_mb
        self._owner = os.getpid()
        self._is_stopped = False
        self._views: set[str] = set()
        self._has_rows = False
        if not sys.executable:
            raise SqlFault("SQL runs in a process of its own, and there is no Python to start.")
        paths = [os.path.abspath(each) for each in sys.path]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a script of ours, no text of others
                [sys.executable, "-I", "-S", str(_SCRIPT), json.dumps(paths)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                start_new_session=True,  # Ctrl-C at the terminal is for this program alone
            )
        except OSError as error:
            raise SqlFault(
                f"SQL runs in a process of its own, which cannot start: {error}."
            ) from error
        self.pid = self._process.pid
        STARTED.add(self)
        self.open()

    @property
    def is_ours(self) -> bool:
        """Whether this program started it, and not the one that this was forked from."""
        return self._owner == os.getpid()

    def open(self) -> None:
        """Open an empty database unless there is one; an Exhausted where the process ended."""
        config = _CONFIG | {"memory_limit": f"{self.memory_mb}MB"}
        self._ask("open", config, self.memory_mb + _SLACK_MB)

    def clear(self) -> bool:
        """Take away all tables; return whether the process is as good as new."""
        has_rows, self._has_rows = self._has_rows, False
        try:
            if has_rows:  # closing it frees their memory
                return self._ask("close") is True
            while self._views:
                self._execute(f"DROP VIEW {quoted(self._views.pop())}")
        except SqlFault:
            return False
        finally:
            self._views.clear()
        return not self._is_stopped

    def stop(self) -> None:
        """Kill the process: the running operation and every later one end with `Stopped`."""
        self._is_stopped = True
        STARTED.discard(self)
        if not self.is_ours:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # unsent data cannot be flushed
                if pipe is not None:
                    pipe.close()

    def statement(self, text: str, tables: Collection[str] | None) -> Statement:
        """Read `text`; reasons not to run it are listed in the statement's `problems`.

        `tables` are the names that it may read, None where they are not known.
        """
        try:
            tree = self._tree(text)
        except Stopped:
            raise
        except SqlFault as fault:
            return Statement(text, (str(fault),))
        return examine(text, tree, tables, self.functions())

    def _tree(self, text: str) -> Node:
        """Return the syntax tree of `text`; a SqlFault unless it is one SELECT, safe to parse."""
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

    def functions(self) -> Functions:
        """Return the functions that a statement may call."""
        if not _FUNCTIONS:
            rows = convert(self._ask("functions"), list[Overload])
            _FUNCTIONS.append(functions_of(rows))
        return _FUNCTIONS[0]

    def create(self, name: str, columns: Columns) -> None:
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
        self._has_rows = True
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
        self._views.add(name)

    def bind(self, statement: Statement) -> tuple[tuple[ResultColumn, ...], tuple[Call, ...]]:
        """Return the columns and calls of `statement`; no row is read.

        Raises:
            MissingColumn: it reads a column that is not there.
            SqlFault: its names or types do not fit the tables, or it calls a forbidden function.
        """
        columns, calls = convert(
            self._ask("bind", statement.text), tuple[tuple[ResultColumn, ...], tuple[Call, ...]]
        )
        if problem := self.functions().problem(calls):
            raise SqlFault(problem)
        called = {text_of(node, "function_name").casefold() for node in nodes_of(statement.tree)}
        if called & self.functions().macros:  # a place is one in the text of the macro, perhaps
            calls = tuple(each._replace(place=None) for each in calls)
        return columns, calls

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

    def run(
        self,
        statement: Statement,
        result: Sequence[ResultColumn],
        calls: Iterable[Call],
        max_rows: int,
    ) -> list[dict[str, Json]]:
        """Return the rows that `statement` gives; `result` and `calls` are what `bind` found.

        Raises:
            SqlFault: it fails, gives more than `max_rows` rows, or a value that JSON cannot hold,
                or makes another value of one.
        """
        if fault := result_fault(result):
            raise SqlFault(fault)
        text = self._guarded(statement, calls)
        rows = convert(self._ask("run", text, max_rows), list[list[Any]] | None)
        if rows is None:
            raise SqlFault(
                f"The statement gives more than {max_rows} rows; aggregate, or add a LIMIT."
            )
        names = [each.name for each in result]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _guarded(self, statement: Statement, calls: Iterable[Call]) -> str:
        """Return the text of a statement with its guards."""
        tree = guarded(statement.tree, calls)
        if tree is None:
            return statement.text
        made: Json = {"error": False, "statements": [tree]}
        try:
            row = self._execute("SELECT json_deserialize_sql(?)", [json.dumps(made)])
        except Stopped:
            raise
        except SqlFault as fault:  # its depth is bounded
            raise SqlFault(
                f"The statement nests too deep; name parts of it by WITH. {fault}"
            ) from fault
        return str(row[0]) if row else statement.text

    def _execute(self, text: str, parameters: Sequence[object] | None = None) -> list[Json] | None:
        """Return the first row of `text`, None where it has none."""
        return convert(self._ask("execute", text, parameters), list[Any] | None)

    def _ask(self, operation: str, *arguments: object) -> Json:
        """Return the result of `operation` in the child process.

        Raises:
            SqlFault: the database reports an error.
            Exhausted: the process ended, because it used too much memory or was killed.
            Stopped: it was stopped before.
        """
        given, taken = self._process.stdin, self._process.stdout
        request = json.dumps([operation, *arguments]).encode() + b"\n"
        try:
            if given is None or taken is None:
                raise self._ended()
            given.write(request)
            given.flush()
            reply = json.loads(taken.readline())
        except (OSError, ValueError) as error:  # it ended, in the middle of a line perhaps
            raise self._ended() from error
        except BaseException:
            self.stop()
            raise
        match reply:
            case ["ok", value]:
                return value
            case ["result", str(text)]:
                raise SqlFault(text)
            case ["error", str(text)] if not _NO_MEMORY.search(text):
                raise read_fault(text)
            case _:  # its contents are unknown now
                raise self._ended()

    def _ended(self) -> Stopped:
        if self._is_stopped:
            return Stopped("The statement was stopped.")
        self.stop()
        return Exhausted(self.memory_mb)


STARTED: Final = set[Database]()
"""All databases whose process was not ended."""

IDLE: Final = deque[Database]()
"""Empty databases for the next statements."""

_LOCK: Final = threading.Lock()


@contextmanager
def opened(memory_mb: int, seconds: float) -> Generator[Database]:
    """Yield an empty database with `memory_mb` megabytes, and stop it after `seconds`.

    Raises:
        SqlFault: it was stopped so, or no process can be started.
    """
    database = _taken(memory_mb)
    ran_out = threading.Event()

    def stop() -> None:
        ran_out.set()
        database.stop()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield database
    except Stopped as fault:
        if ran_out.is_set():
            raise SqlFault(f"The statement took longer than {seconds:g} s.") from fault
        raise
    finally:
        timer.cancel()
        timer.join()  # it could stop the next user of this database
        _release(database)


def _taken(memory_mb: int) -> Database:
    while True:
        with _LOCK:
            for each in tuple(IDLE):
                if not each.is_ours:  # this program was forked
                    IDLE.remove(each)
            found = next((each for each in IDLE if each.memory_mb == memory_mb), None)
            if found is not None:
                IDLE.remove(found)
        if found is None:
            return Database(memory_mb)
        with suppress(SqlFault):  # it ended while it was idle
            found.open()
            return found


def _release(database: Database) -> None:
    """Keep `database` for the next statement if it is as good as new."""
    if not database.clear():
        database.stop()
        return
    with _LOCK:
        IDLE.append(database)
        surplus = IDLE.popleft() if len(IDLE) > _MOST_IDLE else None
    if surplus is not None:
        surplus.stop()


@atexit.register
def _end_all() -> None:
    for database in tuple(STARTED):
        database.stop()


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
