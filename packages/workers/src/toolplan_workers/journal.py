"""The journal in Postgres, with the runs that workers take, and the removal of older runs."""

from __future__ import annotations

from typing import Final

from toolplan.storage.journal import BLOB, Pruning, named_blobs
from toolplan_workers.postgres import PostgresJournal
from toolplan_workers.postgres.connections import has_table
from toolplan_workers.queue.dispatch import Dispatch

# Locked: a run that is cancelled could be resumed just now.
_PRUNABLE: Final = """
    SELECT run FROM runs WHERE status IN ('succeeded', 'failed', 'cancelled') AND created_at < %s
    AND (owner = '' OR lease_until <= clock_timestamp())
    AND (created_at < %s OR created_at = %s AND run > %s)
    ORDER BY created_at, run LIMIT %s
"""
_KEPT: Final = "SELECT created_at, run FROM runs ORDER BY created_at DESC, run OFFSET %s LIMIT 1"
_BATCH: Final = 5_000
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
_WITH_BLOBS: Final = "SELECT event FROM events WHERE strpos(event, %s) > 0"


class SharedJournal(PostgresJournal):
    """What `open_journal` opens at an address of Postgres."""

    def worker_runs(self, *, make: bool = False) -> Dispatch | None:
        """Return the runs that workers take; None where they have never shared the journal.

        With `make` they share it from now on.
        """
        if not make:
            with self.transaction() as connection:
                if not has_table(connection, "placements"):
                    return None
        return Dispatch(self)

    def prune(self, *, older_than_s: float, keep: int, apply: bool = False) -> Pruning:
        """Remove older runs that are over."""
        return prune_shared(self, older_than_s=older_than_s, keep=keep, apply=apply)


def prune_shared(
    journal: PostgresJournal,
    *,
    older_than_s: float,
    keep: int,
    apply: bool = False,
    now: float | None = None,
) -> Pruning:
    """Remove the runs that began more than `older_than_s` seconds ago, but not the `keep` latest.

    It does for a database what `Journal.prune` does for a file. Messages to the runs are
    removed with them; approvals that were used stay used.

    Raises:
        JournalError: the journal cannot be read or written.
    """
    if now is None:
        now = float(journal.rows("SELECT extract(epoch FROM clock_timestamp())", ())[0][0])
    created, run = _oldest_kept(journal, keep)
    values = (now - older_than_s, created, created, run)
    before, total = _size(journal), int(journal.rows("SELECT count(*) FROM runs", ())[0][0])
    if not apply:
        names = tuple(str(row[0]) for row in journal.rows(_PRUNABLE, (*values, None)))
        return Pruning(names, total - len(names), before, before)
    names = ()
    while batch := _remove(journal, (*values, _BATCH)):
        names += batch
    kept = total - len(names)
    with journal.transaction() as connection:
        # no process may refer to a large record between the two statements
        connection.execute("LOCK TABLE blobs IN EXCLUSIVE MODE")
        named = named_blobs(connection.execute(_WITH_BLOBS, (BLOB,)))
        connection.execute("DELETE FROM blobs WHERE name <> ALL(%s)", ([*named],))
    for table in ("events", "blobs", "runs"):
        journal.rows(f"VACUUM {table}", ())
    return Pruning(names, kept, before, _size(journal))


def _oldest_kept(journal: PostgresJournal, keep: int) -> tuple[float, str]:
    """Return when the oldest of the `keep` latest runs was made, and its name."""
    if not keep:
        return float("inf"), ""
    rows = journal.rows(_KEPT, (keep - 1,))
    return (float(rows[0][0]), str(rows[0][1])) if rows else (float("-inf"), "")


def _remove(journal: PostgresJournal, values: tuple[object, ...]) -> tuple[str, ...]:
    """Remove some runs in one transaction, and return them."""
    with journal.transaction() as connection:
        rows = connection.execute(f"{_PRUNABLE} FOR UPDATE", values).fetchall()
        names = tuple(str(row[0]) for row in rows)
        for table, delete in _DELETE.items():
            if has_table(connection, table):
                connection.execute(delete.encode(), ([*names],))
    return names


def _size(journal: PostgresJournal) -> int:
    return int(journal.rows(_SIZE, ())[0][0])
