"""Connections to one database: as many as are in use at the same time, up to a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import psycopg

from toolplan.storage.journal._errors import NotReached
from toolplan.storage.journal._processes import since_boot
from toolplan.storage.journal.postgres._address import OWN_SESSION, Address
from toolplan.storage.journal.postgres._faults import OPTIONS_REFUSED, all_in_use, fault, pooled

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_T = TypeVar("_T")
_TRIES: Final = 3

MOST: Final = 4
"""The most connections that are lent at the same time: each is a process of the server."""
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
            JournalError: none is free for long, or none can be opened.
        """
        if not self._places.acquire(timeout=_PATIENCE_S):
            raise all_in_use(self.address)
        try:
            with self._lent() as connection:
                yield connection
        finally:
            self._places.release()

    @contextmanager
    def _lent(self) -> Generator[Connection]:
        with self._lock:
            # the last one that was given back: its statements are prepared
            connection = self._idle.pop() if self._idle else None
        connection = self.open() if connection is None else connection
        try:
            yield connection
        finally:
            if connection.closed:
                self._close_idle()  # a server that started again has lost these, too
            with self._lock:
                is_whole = not connection.closed and not self._is_closed
                if is_whole and connection.info.transaction_status == _IDLE:
                    self._idle.append(connection)
                    connection = None
            if connection is not None:
                connection.close()

    def do(self, work: Callable[[Connection], _T]) -> _T:
        """Return what `work` returns; where the connection was lost, do it again on another.

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
        self, query: str, values: Sequence[object] | Mapping[str, object]
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

    @contextmanager
    def closed_on_error(self) -> Generator[None]:
        """Close all of them if the block fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all of them; those in use, when they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
