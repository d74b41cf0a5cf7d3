"""Older runs are removed from a journal in a database, with what was sent to them."""

from __future__ import annotations

import json
from typing import Any, Final

from toolplan.storage.journal import Pruning
from toolplan.storage.queue._dispatch import SharedJournal, has_table

# Locked: a run that is cancelled could be resumed just now.
_PRUNABLE: Final = """
    SELECT run FROM runs WHERE status IN ('succeeded', 'failed', 'cancelled') AND created_at < %s
    AND (owner = '' OR lease_until <= clock_timestamp())
    AND run NOT IN (SELECT run FROM runs ORDER BY created_at DESC, run LIMIT %s)
    ORDER BY created_at, run
"""
_DELETE: Final = {
    "events": "DELETE FROM events WHERE run = ANY(%s)",
    "placements": "DELETE FROM placements WHERE run = ANY(%s)",
    "inbox": "DELETE FROM inbox WHERE run = ANY(%s)",
    "runs": "DELETE FROM runs WHERE run = ANY(%s)",
}
_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
    " WHERE relkind = 'r'"
    " AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass)"
)
_BLOB: Final = '["blob",'


def prune_shared(
    journal: SharedJournal,
    *,
    older_than_s: float,
    keep: int,
    apply: bool = False,
    now: float | None = None,
) -> Pruning:
    """Remove the runs that began more than `older_than_s` seconds ago, but not the `keep` latest.

    It does for a database what `storage.journal.prune` does for a file. Messages to the runs are
    removed with them; approvals that were used stay used.

    Raises:
        JournalError: the journal cannot be read or written.
    """
    if now is None:
        now = float(journal.rows("SELECT extract(epoch FROM clock_timestamp())", ())[0][0])
    values = (now - older_than_s, keep)
    before = _size(journal)
    with journal.transaction() as connection:
        rows = connection.execute(_PRUNABLE + ("FOR UPDATE" if apply else ""), values).fetchall()
        names = tuple(str(row[0]) for row in rows)
        kept = int(connection.execute("SELECT count(*) FROM runs").fetchone()[0]) - len(names)
        for table, delete in _DELETE.items() if apply else ():
            if has_table(connection, table):
                connection.execute(delete, ([*names],))
    if not apply:
        return Pruning(names, kept, before, before)
    with journal.transaction() as connection:
        # nobody may refer to a large record between the two statements
        connection.execute("LOCK TABLE blobs IN EXCLUSIVE MODE")
        connection.execute("DELETE FROM blobs WHERE name <> ALL(%s)", (_named_blobs(connection),))
    for table in ("events", "blobs", "runs"):
        journal.rows(f"VACUUM {table}", ())
    return Pruning(names, kept, before, _size(journal))


def _named_blobs(connection: Any) -> list[str]:  # noqa: ANN401 — of the database
    """Return the names of the large records that records refer to."""
    query = "SELECT event FROM events WHERE strpos(event, %s) > 0"
    return [
        str(json.loads(line)[1])
        for (text,) in connection.execute(query, (_BLOB,))
        for line in str(text).split("\n")
        if line.startswith(_BLOB)
    ]


def _size(journal: SharedJournal) -> int:
    return int(journal.rows(_SIZE, ())[0][0])
