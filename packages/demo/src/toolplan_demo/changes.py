"""What tools have changed in the demo's data: kept in `TOOLPLAN_HOME`, until it is reset.

The rows that were written are kept as they are then, and replace the generated ones. They are on
disk before the tool returns, so a crash loses no change that was reported.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import platformdirs

from toolplan.tools import ToolError

FILE: Final = "demo-changes.sqlite"
_HOME: Final = "TOOLPLAN_HOME"
_BUSY_S: Final = 5.0
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS changes (data TEXT, name TEXT, id TEXT, fields TEXT NOT NULL, "
    "PRIMARY KEY (data, name, id)) WITHOUT ROWID"
)
_NOTING: Final = """
CREATE TEMP TABLE written (name TEXT, id TEXT, PRIMARY KEY (name, id)) WITHOUT ROWID;
CREATE TEMP TRIGGER facility_added AFTER INSERT ON main.facilities
    BEGIN INSERT OR IGNORE INTO written VALUES ('facilities', NEW.id); END;
CREATE TEMP TRIGGER facility_changed AFTER UPDATE ON main.facilities
    BEGIN INSERT OR IGNORE INTO written VALUES ('facilities', NEW.id); END;
CREATE TEMP TRIGGER shipment_added AFTER INSERT ON main.shipments
    BEGIN INSERT OR IGNORE INTO written VALUES ('shipments', NEW.id); END;
CREATE TEMP TRIGGER shipment_changed AFTER UPDATE ON main.shipments
    BEGIN INSERT OR IGNORE INTO written VALUES ('shipments', NEW.id); END;
CREATE TEMP TRIGGER contaminant_added AFTER INSERT ON main.contaminants
    BEGIN INSERT OR IGNORE INTO written VALUES ('contaminants', NEW.id); END;
CREATE TEMP TRIGGER contaminant_changed AFTER UPDATE ON main.contaminants
    BEGIN INSERT OR IGNORE INTO written VALUES ('contaminants', NEW.id); END;
CREATE TEMP TRIGGER inspection_added AFTER INSERT ON main.inspections
    BEGIN INSERT OR IGNORE INTO written VALUES ('inspections', NEW.id); END;
CREATE TEMP TRIGGER inspection_changed AFTER UPDATE ON main.inspections
    BEGIN INSERT OR IGNORE INTO written VALUES ('inspections', NEW.id); END;
"""
_READS: Final = {
    "facilities": "SELECT * FROM main.facilities WHERE id = ?",
    "shipments": "SELECT * FROM main.shipments WHERE id = ?",
    "contaminants": "SELECT * FROM main.contaminants WHERE id = ?",
    "inspections": "SELECT * FROM main.inspections WHERE id = ?",
}
_WRITES: Final = {
    "facilities": "REPLACE INTO main.facilities VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    "shipments": "REPLACE INTO main.shipments VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    "contaminants": "REPLACE INTO main.contaminants VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    "inspections": "REPLACE INTO main.inspections VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
}


def changes_file() -> Path:
    """Return where the changes are kept."""
    named = os.environ.get(_HOME)
    home = Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)
    return home / FILE


def are_kept() -> bool:
    """Return whether there are changes."""
    return changes_file().exists()


def reset() -> bool:
    """Delete all changes; return whether there were any.

    Raises:
        OSError: the file cannot be deleted.
    """
    path = changes_file()
    there = path.exists()
    for each in (path, path.with_name(f"{FILE}-journal")):
        each.unlink(missing_ok=True)
    return there


def apply_changes(connection: sqlite3.Connection, data: str) -> None:
    """Put the changes that were kept of `data` into a new database, and note what is written next.

    Raises:
        ToolError: the file cannot be read.
    """
    if are_kept():
        with _opened() as file:
            query = "SELECT name, fields FROM changes WHERE data = ?"
            for name, fields in file.execute(query, (data,)).fetchall():
                connection.execute(_WRITES[name], json.loads(fields))
    connection.executescript(_NOTING)


def keep_changes(connection: sqlite3.Connection, data: str) -> None:
    """Keep the rows that were written since the last call, before they are committed.

    Raises:
        ToolError: they cannot be kept.
    """
    written = connection.execute("SELECT name, id FROM temp.written").fetchall()
    if not written:
        return
    rows = [
        (data, name, identity, json.dumps(connection.execute(_READS[name], (identity,)).fetchone()))
        for name, identity in written
    ]
    with _opened() as file:
        file.execute("BEGIN IMMEDIATE")
        file.executemany("REPLACE INTO changes VALUES (?, ?, ?, ?)", rows)
        file.execute("COMMIT")
    connection.execute("DELETE FROM temp.written")


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
