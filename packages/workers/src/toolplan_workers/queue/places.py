"""Places of limits over all machines: rows that workers lease, and the runs that wait for one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Final

from toolplan.storage.journal.leases import process_text
from toolplan_workers.postgres import PostgresJournal

# Unlogged: a place is worth no more than the server's memory of it, and so costs no sync.
PLACES_TABLES: Final = """
    CREATE UNLOGGED TABLE places (
        name text NOT NULL,
        slot int NOT NULL,
        owner text NOT NULL,
        since timestamptz NOT NULL,
        until timestamptz NOT NULL,
        PRIMARY KEY (name, slot)
    );
    CREATE UNLOGGED TABLE place_waits (
        run text NOT NULL,
        name text NOT NULL,
        owner text NOT NULL,
        PRIMARY KEY (run, name)
    );
"""

# A worker's own lapsed row is not free to it: it may still be in use.
_TAKE: Final = """
    INSERT INTO places AS p
    SELECT %(name)s, slot, %(owner)s, clock_timestamp(), clock_timestamp() + interval '10 s'
    FROM generate_series(0, %(most)s - 1) AS slot
    WHERE NOT EXISTS (
        SELECT 1 FROM places AS q WHERE q.name = %(name)s AND q.slot = slot.slot
        AND (q.until >= clock_timestamp() OR q.owner = %(owner)s)
    ) ORDER BY random() LIMIT 1
    ON CONFLICT (name, slot) DO UPDATE
    SET owner = excluded.owner, since = excluded.since, until = excluded.until
    WHERE p.until < clock_timestamp() AND p.owner <> excluded.owner
    RETURNING slot
"""
_KEEP: Final = """
    WITH mine AS (SELECT * FROM unnest(%(names)s::text[], %(slots)s::int[]) AS m (name, slot)),
    kept AS (
        UPDATE places AS p SET until = clock_timestamp() + interval '10 s' FROM mine
        WHERE p.owner = %(owner)s AND p.name = mine.name AND p.slot = mine.slot
        RETURNING p.name, p.slot
    ),
    forgotten AS (
        DELETE FROM places AS p WHERE owner = %(owner)s AND until < clock_timestamp()
        AND NOT EXISTS (SELECT 1 FROM mine WHERE p.name = mine.name AND p.slot = mine.slot)
    )
    SELECT name, slot FROM kept
"""
_WAIT: Final = """
    WITH now AS (SELECT * FROM unnest(%(runs)s::text[], %(names)s::text[]) AS n (run, name)),
    over AS (
        DELETE FROM place_waits AS w WHERE owner = %(owner)s
        AND NOT EXISTS (SELECT 1 FROM now WHERE w.run = now.run AND w.name = now.name)
    )
    INSERT INTO place_waits SELECT run, name, %(owner)s FROM now
    ON CONFLICT (run, name) DO UPDATE SET owner = excluded.owner
    WHERE place_waits.owner <> excluded.owner
"""
_WAITS: Final = """
    SELECT w.name, p.owner, p.since FROM place_waits AS w JOIN places AS p ON p.name = w.name
    WHERE w.run = %s AND p.until > clock_timestamp() ORDER BY w.name, p.since
"""
_DROP: Final = (
    "DELETE FROM places WHERE owner = %s",
    "DELETE FROM place_waits WHERE owner = %s",
)
_MOMENT: Final = "%Y-%m-%d %H:%M:%S"


class Places:
    """The places of limits over all machines, leased by one worker.

    Its methods block, and raise `JournalError` where the database cannot be used.
    """

    def __init__(self, journal: PostgresJournal) -> None:
        self._journal = journal

    def take(self, name: str, most: int) -> int | None:
        """Take a free place of `most`; return its number, None if all are taken."""
        values = {"name": name, "most": most, "owner": self._journal.owner}
        rows = self._journal.rows(_TAKE, values)
        return int(rows[0][0]) if rows else None

    def release(self, name: str, slot: int) -> None:
        """Release a place, unless another worker has it."""
        query = "DELETE FROM places WHERE name = %s AND slot = %s AND owner = %s"
        self._journal.rows(query, (name, slot, self._journal.owner))

    def keep(self, held: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        """Extend the leases of `held`; return those that this worker still has."""
        names, slots = [name for name, _ in held], [slot for _, slot in held]
        values = {"names": names, "slots": slots, "owner": self._journal.owner}
        return {(str(name), int(slot)) for name, slot in self._journal.rows(_KEEP, values)}

    def note_waits(self, waits: Sequence[tuple[str, str]]) -> None:
        """Note the runs of this worker that wait for a place, each with the limit's name."""
        runs, names = [run for run, _ in waits], [name for _, name in waits]
        values = {"runs": runs, "names": names, "owner": self._journal.owner}
        self._journal.rows(_WAIT, values)

    def waits(self, run: str) -> str:
        """Return a text on the places that `run` waits for and their holders; "" without any."""
        texts: list[str] = []
        for name, held in groupby(self._journal.rows(_WAITS, (run,)), key=lambda row: row[0]):
            holders = [
                f"{process_text(owner.partition('|')[0])} since {since.astimezone():{_MOMENT}}"
                for _, owner, since in held
            ]
            texts.append(f"a place of {name}, held by the worker in {', '.join(holders)}")
        return f"{'; and for '.join(texts)}." if texts else ""

    def drop(self, worker: str) -> None:
        """Remove the places and waits of a worker that is gone."""
        for statement in _DROP:
            self._journal.rows(statement, (worker,))
