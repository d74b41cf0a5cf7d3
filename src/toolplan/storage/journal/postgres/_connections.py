"""Connections to one database, as many as are in use at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import psycopg

from toolplan.storage.journal.postgres._address import Address
from toolplan.storage.journal.postgres._faults import fault

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_T = TypeVar("_T")
_TRIES: Final = 3


class Connections:
    """Opens connections, and keeps those that are not in use."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def open(self) -> Connection:
        """Open a connection, which the caller closes. Each statement is a transaction.

        Raises:
            JournalError: it cannot be opened.
        """
        try:
            return psycopg.connect(self.address.conninfo, autocommit=True, prepare_threshold=1)
        except psycopg.Error as error:
            raise fault(error, self.address) from None

    @contextmanager
    def one(self) -> Generator[Connection]:
        """Lend a connection; a broken one is not lent again."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = self.open() if connection is None else connection
        try:
            yield connection
        finally:
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
                    return work(connection)
                except psycopg.Error as error:
                    if not connection.closed or not left:
                        raise fault(error, self.address) from None
        raise AssertionError("the last try returns or raises")

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
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
