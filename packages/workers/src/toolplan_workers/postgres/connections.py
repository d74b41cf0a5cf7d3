"""Connections to one database, and the errors of Postgres.

There are as many as are in use at the same time, up to a bound.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import psycopg

from toolplan.storage.database_file import FaultKind
from toolplan.storage.journal.errors import JournalError, NotReached
from toolplan.storage.journal.leases import since_boot
from toolplan_workers.postgres.address import OWN_SESSION, Address

_KINDS: Final[dict[str, FaultKind]] = {
    "57P03": "locked",  # it starts, or stops
    "55P03": "locked",
    "40001": "locked",
    "40P01": "locked",
    "53300": "locked",  # too many connections
    "53100": "full",
    "25006": "read-only",
    "55000": "read-only",  # a standby, asked where it writes
    "42501": "read-only",
    "XX001": "damaged",
    "XX002": "damaged",
}
# while a connection is opened there is no code, only words
_BUSY: Final = (
    "the database system is",
    "too many clients",
    "too many connections",
    "remaining connection slots",
)

# the message of a pool about options that it does not pass on
OPTIONS_REFUSED: Final = "unsupported startup parameter"

_AGAIN: Final = "and try again; a run that had started can be resumed."
_HELP: Final[dict[FaultKind, str]] = {
    "locked": f"The server is starting, or busy. Wait, {_AGAIN}",
    "full": f"Make room on the server's disk, {_AGAIN}",
    "read-only": "Name a server that can be written, and a user who may create and write tables.",
    "unavailable": f"Check that the server runs, its address and the password, {_AGAIN}",
    "damaged": "Restore the database from a copy.",
}


def pooled(address: Address) -> JournalError:
    """Return the error of an address behind which clients share sessions."""
    return JournalError(
        "journal-pooled",
        f"The journal {address.place} is behind a pool that shares sessions between clients, or"
        " drops the options of a session: its tables and locks would be lost or shared.",
        "Name the server itself in the address, without the pool (PgBouncer and the like).",
    )


def fault(error: psycopg.Error, address: Address) -> JournalError:
    """Return `error` as an error of the journal at `address`, without a password."""
    if isinstance(error, psycopg.DataError):
        return JournalError("journal-value", f"A value cannot be kept: {address.reason(error)}.")
    kind = _KINDS.get(error.sqlstate or "", "unavailable")
    if error.sqlstate is None and any(words in str(error) for words in _BUSY):
        kind = "locked"
    message = f"The journal {address.place} cannot be used: {address.reason(error)}."
    return JournalError(f"journal-{kind}", message, _HELP[kind])


Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_T = TypeVar("_T")
_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
_TRIES: Final = 3

MOST: Final = 4
"""Maximum number of connections lent at the same time: each is a process of the server."""
_PATIENCE_S: Final = 30.0
_CLOCK_READ_S: Final = 60.0
"""Maximum age, in seconds, of a reading of the server's clock."""


class Connections:
    """Opens connections, and keeps those that are not in use."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST)
        self._is_closed = False
        self._server_time = (0.0, float("-inf"))  # and when it was read, since the boot

    def open(self) -> Connection:
        """Open a connection, which the caller closes. Each statement is a transaction.

        Raises:
            JournalError: it cannot be opened, or is behind a pool that shares sessions.
        """
        try:
            opened = psycopg.connect(self.address.conninfo, autocommit=True, prepare_threshold=1)
            # two transactions: a pool may answer the second one with another session
            seen = {opened.execute(OWN_SESSION).fetchone() for _ in range(2)}
            if len(seen) > 1 or not all(row and row[0] == "own" for row in seen):
                opened.close()
                raise pooled(self.address)
            return opened
        except psycopg.Error as error:
            if OPTIONS_REFUSED in str(error):
                raise pooled(self.address) from None
            found = fault(error, self.address)
            if "FATAL" in str(error) and "the database system is" not in str(error):
                raise found from None  # the server has answered, and refuses
            raise NotReached(found.code, found.message, found.help) from None

    @contextmanager
    def one(self) -> Generator[Connection]:
        """Lend a connection, when one is free; a broken one is not lent again.

        Raises:
            JournalError: no connection is free for long, or none can be opened.
        """
        if not self._places.acquire(timeout=_PATIENCE_S):
            place = self.address.place
            message = f"The journal {place} cannot be used: all connections to it are in use."
            raise JournalError("journal-locked", message, _HELP["locked"])
        try:
            with self._lock:
                # the last one that was given back: its statements are prepared
                connection = self._idle.pop() if self._idle else None
            connection = self.open() if connection is None else connection
            try:
                yield connection
            finally:
                self._take_back(connection)
        finally:
            self._places.release()

    def _take_back(self, connection: Connection) -> None:
        if connection.closed:
            self._close_idle()  # a server that started again has lost these, too
            return
        with self._lock:
            if not self._is_closed and connection.info.transaction_status == _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def do(self, work: Callable[[Connection], _T]) -> _T:
        """Return the result of `work`; where the connection was lost, do it again on another.

        It may have been committed although the connection was lost: `work` must look that up.

        Raises:
            JournalError: the database cannot be used.
        """
        for left in reversed(range(_TRIES)):
            with self.one() as connection:
                try:
                    self._read_clock(connection)
                    return work(connection)
                except psycopg.Error as error:
                    if not connection.closed or not left:
                        raise fault(error, self.address) from None
        raise AssertionError("the last try returns or raises")

    def rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, which is a transaction.

        Where the connection was lost it is done again: it may have been done twice.

        Raises:
            JournalError: the database cannot be used.
        """

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description is not None else []

        return self.do(work)

    def now(self) -> float:
        """Return the time of the server in seconds since the epoch.

        It is the server's time at the last reading, made by `do` or `transaction`, plus the
        monotonic time since then; the wall clock of this machine is not used.
        """
        seconds, read_at = self._server_time
        return seconds + since_boot() - read_at

    def _read_clock(self, connection: Connection) -> None:
        if since_boot() - self._server_time[1] > _CLOCK_READ_S:
            query = "SELECT extract(epoch FROM clock_timestamp())::float8"
            ((seconds,),) = connection.execute(query).fetchall()
            self._server_time = (float(seconds), since_boot())

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """Commit all of the block or nothing.

        Raises:
            JournalError: the database cannot be used; it is not known whether the end of the block
                was committed, if the connection was lost there.
        """
        with self.one() as connection:
            try:
                self._read_clock(connection)
                with connection.transaction():
                    yield connection
            except psycopg.Error as error:
                raise fault(error, self.address) from None

    def close(self) -> None:
        """Close all of them; those in use, when they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def has_table(connection: Connection, table: str) -> bool:
    """Return whether there is a table with this name."""
    rows = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchall()
    return bool(rows[0][0])
