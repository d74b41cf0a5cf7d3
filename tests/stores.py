"""Journals of each kind, for tests that hold for all of them."""

import sqlite3
from abc import ABC, abstractmethod
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg

from tests.postgres import Server
from toolplan.storage.journal import Journal, Store
from toolplan_workers.journal import SharedJournal


class Stores(ABC):
    """One place for a journal, opened as often as a test wants to; all are closed after it."""

    def __init__(self) -> None:
        self.opened = ExitStack()

    def open(self, **options: Any) -> Store:
        """Open the journal."""
        return self.opened.enter_context(closing(self._open(options)))

    @abstractmethod
    def _open(self, options: dict[str, Any]) -> Store: ...

    @property
    @abstractmethod
    def place(self) -> str:
        """What `open_journal` takes."""

    @abstractmethod
    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Execute a statement in the journal's tables, from outside; return its rows."""

    @abstractmethod
    def end_lease(self, run: str) -> None:
        """Let the lease of a run expire."""

    @abstractmethod
    def spoil_blobs(self, *, remove: bool) -> None:
        """Change or remove what is kept of large records."""


class Files(Stores):
    """A file of SQLite."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def _open(self, options: dict[str, Any]) -> Journal:
        return Journal(self.path, **options)

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Execute a statement."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    def end_lease(self, run: str) -> None:
        """Let the lease of a run expire."""
        self.execute(f"UPDATE runs SET beat = -1e9 WHERE run = '{run}'")

    def spoil_blobs(self, *, remove: bool) -> None:
        """Change or remove what is kept of large records."""
        for blob in self.path.with_name(f"{self.path.name}-blobs").glob("[0-9a-f]" * 64):
            blob.unlink() if remove else blob.write_bytes(blob.read_bytes()[:-1])


class Tables(Stores):
    """A schema of Postgres."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._url = server.schema()

    def _open(self, options: dict[str, Any]) -> SharedJournal:
        return SharedJournal(self._url, **options)

    @property
    def place(self) -> str:
        """The address of the database and the schema."""
        return self._url

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Execute a statement."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def end_lease(self, run: str) -> None:
        """Let the lease of a run expire."""
        self.execute(f"UPDATE runs SET lease_until = clock_timestamp() WHERE run = '{run}'")

    def spoil_blobs(self, *, remove: bool) -> None:
        """Change or remove what is kept of large records."""
        self.execute("DELETE FROM blobs" if remove else "UPDATE blobs SET content = content || ' '")
