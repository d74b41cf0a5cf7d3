"""Names held as long as a session lasts: their release shows the end of a process at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection
from typing import Any

import psycopg

from toolplan_workers.postgres.connections import Connection, Connections, fault


class Locks:
    """Session advisory locks by name, all on one connection of their own.

    They end with the connection, so with the process or its machine. Its methods block, are
    thread-safe, and raise `JournalError` where the database cannot be used, or the session is over.
    They do not work through a pool that shares sessions between clients.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: Connection | None = None
        self._held: set[str] = set()
        self._lock = threading.Lock()

    def hold(self, name: str) -> bool:
        """Hold `name`, unless it is held already, here or elsewhere; return whether that worked."""
        with self._lock:
            if name in self._held:  # the session would hold it twice
                return False
            if self._ask("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name)[0][0]:
                self._held.add(name)
                return True
            return False

    def release(self, name: str) -> None:
        """Release `name`."""
        with self._lock:
            if name in self._held:
                self._held.remove(name)
                self._ask("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)

    def has(self, name: str) -> bool:
        """Return whether `name` is held here, as far as the last question to the server showed."""
        with self._lock:
            return name in self._held

    def free(self, names: Collection[str]) -> frozenset[str]:
        """Return the `names` that are free; it also finds out whether the session lives."""
        query = (
            "SELECT name FROM unnest(%s::text[]) AS name"
            " WHERE pg_try_advisory_xact_lock(hashtextextended(name, 0))"
        )
        with self._lock:  # the session would get its own locks
            others = [name for name in names if name not in self._held]
            return frozenset(str(row[0]) for row in self._ask(query, others))

    def end_sessions(self, names: Collection[str]) -> None:
        """End the sessions that hold `names`, with all other locks of each."""
        query = (
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND objsubid = 1 AND granted AND pid <> pg_backend_pid()"
            " AND ((classid::bigint << 32) | objid::bigint)"
            " IN (SELECT hashtextextended(name, 0) FROM unnest(%s::text[]) AS name)"
        )
        with self._lock:
            self._ask(query, list(names))

    def close(self) -> None:
        """Release all names.

        They are free when this returns: a server notices some time later that a connection was
        closed, so they are released one statement before.
        """
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(psycopg.Error):  # the session is over, and its locks too
                    self._connection.execute("SELECT pg_advisory_unlock_all()")
                self._connection.close()
            self._connection = None
            self._held.clear()

    def _ask(self, query: str, value: object) -> list[tuple[Any, ...]]:
        connection = self._connection
        if connection is None or connection.closed:
            self._held.clear()
            connection = self._connection = self._connections.open()
        try:
            return connection.execute(query.encode(), (value,)).fetchall()
        except psycopg.Error as error:
            if connection.closed:
                self._held.clear()
            raise fault(error, self._connections.address) from None
