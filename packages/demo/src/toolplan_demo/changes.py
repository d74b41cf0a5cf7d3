"""Changes of tools to the demo's data: kept in `TOOLPLAN_HOME`, until they are reset.

The rows that were written are kept as they are then, and replace the generated ones. They are on
disk before the tool returns, so a crash loses no change that was reported.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from toolplan.app.settings import home
from toolplan.schema.tool import ToolError

FILE: Final = "demo-changes.sqlite"
_BUSY_S: Final = 5.0
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS changes (data TEXT, name TEXT, id TEXT, fields TEXT NOT NULL, "
    "PRIMARY KEY (data, name, id)) WITHOUT ROWID"
)
_READ: Final = "SELECT * FROM main.$table WHERE id = ?"
_WRITE: Final = "REPLACE INTO main.$table VALUES ($marks)"
_TABLES: Final = ("facilities", "shipments", "contaminants", "inspections")


def changes_file() -> Path:
    """Return where the changes are kept."""
    return home() / FILE


def reset() -> bool:
    """Delete all changes; return whether there were any."""
    path = changes_file()
    there = path.exists()
    for each in (path, path.with_name(f"{FILE}-journal")):
        each.unlink(missing_ok=True)
    return there


def apply_changes(connection: sqlite3.Connection, data: str) -> None:
    """Put the changes that were kept of `data` into a new database."""
    if not changes_file().exists():
        return
    with _opened() as file:
        query = "SELECT name, fields FROM changes WHERE data = ?"
        for name, fields in file.execute(query, (data,)).fetchall():
            row: list[Any] = json.loads(fields)
            marks = ",".join("?" for _ in row)
            connection.execute(_statement(_WRITE, name).replace("$marks", marks), row)


def keep_changes(
    connection: sqlite3.Connection, data: str, written: Collection[tuple[str, str]]
) -> None:
    """Keep the rows that were written, named by table and id, before they are committed."""
    if not written:
        return
    rows: list[tuple[str, str, str, str]] = []
    for name, identity in written:
        row = connection.execute(_statement(_READ, name), (identity,)).fetchone()
        rows.append((data, name, identity, json.dumps(row)))
    with _opened() as file:
        file.execute("BEGIN IMMEDIATE")
        file.executemany("REPLACE INTO changes VALUES (?, ?, ?, ?)", rows)
        file.execute("COMMIT")


def _statement(sql: str, table: str) -> str:
    if table not in _TABLES:
        raise KeyError(table)
    return sql.replace("$table", table)


@contextmanager
def _opened() -> Generator[sqlite3.Connection]:
    path = changes_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as file:
            file.execute(_TABLE)
            yield file
    except (OSError, sqlite3.Error, ValueError, KeyError) as error:
        raise ToolError(
            f"The demo's changes in {path} cannot be used: {error}. `toolplan demo --reset` forgets"
            " them."
        ) from None
