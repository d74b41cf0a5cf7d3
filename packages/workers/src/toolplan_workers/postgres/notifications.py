"""Notices of new records, by which another process follows a run."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from typing import Final

import psycopg

from toolplan.storage.journal.errors import JournalError
from toolplan_workers.postgres.connections import Connections

_CHANNEL: Final = "toolplan_events"
_GATHER_S: Final = 0.02
_PAUSE_S: Final = 1.0
_LONGEST: Final = 7_000  # bytes of a name in a notice

# A notice need not survive a crash: this transaction alone does not wait for the disk.
_NOTIFY: Final = (
    "WITH named AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true),"
    " unnest(%s::text[]) AS run) SELECT pg_notify(%s, run) FROM named"
)


class _Service(ABC):
    """A thread that starts when it is first needed, and ends with `close`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_over = False

    def close(self) -> None:
        """End the thread, after it has sent the pending notices."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=2 * _PAUSE_S)

    def _started(self) -> bool:
        """Start the thread, under `_changed`; return False if it was started before."""
        if self._thread is not None or self._is_over:
            return False
        self._thread = threading.Thread(target=self._serve, name="toolplan-notices", daemon=True)
        self._thread.start()
        return True

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over, seconds)

    @abstractmethod
    def _serve(self) -> None:
        """Work on the thread until the service is over."""


class Notifier(_Service):
    """Sends notices, on a thread of its own, after the commits.

    A notice in the commit of the records would let commits of all processes wait for each other.
    A lost one does no harm: followers look again after a while.
    """

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._runs: set[str] = set()

    def notify(self, run: str) -> None:
        """Notify the followers of `run` of new records."""
        with self._changed:
            self._runs.add(run)
            self._started()
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._runs or self._is_over)
                runs, self._runs = self._runs, set()
                if not runs:
                    break
            try:
                names = [run for run in runs if len(run.encode()) < _LONGEST]
                with self._connections.one() as connection:
                    connection.execute(_NOTIFY, (names, _CHANNEL))
            except (JournalError, psycopg.Error):
                self._wait(_PAUSE_S)
            self._wait(_GATHER_S)


class Listener(_Service):
    """Receives notices, on a thread and a connection of its own."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._heard: Counter[str] = Counter()

    def heard(self, run: str) -> int:
        """Return the number of notices of `run`; they are counted from the first call on."""
        with self._changed:
            if self._started():
                self._changed.wait(_PAUSE_S)  # until it listens
            return self._heard[run]

    def wait(self, run: str, beyond: int, timeout_s: float) -> None:
        """Return when there were more than `beyond` notices of `run`, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._heard[run] > beyond or self._is_over, timeout_s)

    def _serve(self) -> None:
        while not self._is_over:
            with suppress(JournalError, psycopg.Error), self._connections.open() as connection:
                connection.execute(f"LISTEN {_CHANNEL}".encode())
                with self._changed:
                    self._changed.notify_all()
                while not self._is_over:
                    for notice in connection.notifies(timeout=_PAUSE_S / 2, stop_after=1):
                        with self._changed:
                            self._heard[notice.payload] += 1
                            self._changed.notify_all()
            self._wait(_PAUSE_S)
