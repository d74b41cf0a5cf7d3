"""The tables of the journal in Postgres: their versions and migrations."""

from __future__ import annotations

from typing import Any, Final, cast

from psycopg import sql

from toolplan.storage.journal.errors import JournalError
from toolplan_workers.postgres.connections import Connection, has_table

MIGRATIONS: Final = (
    # 1: runs, their records, large records, used approvals, durations of calls. Records are text:
    # jsonb refuses \u0000, and changes numbers and the order of keys.
    """
    CREATE TABLE runs (
        run text PRIMARY KEY,
        created_at double precision NOT NULL,
        status text NOT NULL,
        digest text NOT NULL,
        record text NOT NULL,
        owner text NOT NULL,
        token bigint NOT NULL,
        lease_until timestamptz NOT NULL,
        next_seq bigint NOT NULL,
        checksum bigint NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX runs_by_time ON runs (created_at);
    CREATE INDEX runs_with_owner ON runs (run) WHERE owner <> '';
    CREATE INDEX runs_that_wait ON runs (digest) WHERE status = 'waiting';
    CREATE TABLE events (
        run text NOT NULL,
        seq bigint NOT NULL,
        event text NOT NULL,
        checksums text NOT NULL,
        PRIMARY KEY (run, seq)
    );
    CREATE TABLE blobs (
        name text PRIMARY KEY,
        content text NOT NULL
    );
    CREATE TABLE approvals (
        approval text PRIMARY KEY,
        run text NOT NULL
    );
    CREATE TABLE durations (
        tool text NOT NULL,
        run text NOT NULL,
        at double precision NOT NULL,
        seconds double precision[] NOT NULL,
        PRIMARY KEY (tool, run)
    );
    CREATE INDEX durations_by_time ON durations (tool, at);
    """,
    # 2: the runs that are open, which are few however many there were.
    """
    CREATE INDEX runs_open ON runs (run) WHERE status IN ('running', 'waiting', 'in_doubt');
    """,
    # 3: how many runs have each status.
    "CREATE INDEX runs_by_status ON runs (status);",
)
"""Each migrates the tables from the version before; a released version is never changed."""

_VERSION: Final = "toolplan_schema"
_LOCK: Final = 0x746F6F6C706C616E  # "toolplan": one process at a time migrates
_OLDEST: Final = 120_000  # Postgres 12


def prepare(connection: Connection, place: str) -> tuple[str, ...]:
    """Bring the tables to the newest version, and return notes for the user.

    Raises:
        JournalError: a newer program made the tables, or they are of another program.
    """
    found, encoding = connection.info.server_version, _setting(connection, "server_encoding")
    if found < _OLDEST:
        message = f"its server is Postgres {found // 10_000}"
        raise _unusable("unavailable", place, message, "Postgres 12 is the oldest that works.")
    if encoding != "UTF8":
        help = "Create one with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0."
        raise _unusable("unavailable", place, f"the database has the encoding {encoding}", help)
    if _version(connection, place) < len(MIGRATIONS):
        _migrate(connection, place)
    if _setting(connection, "fsync") == "off":
        return (f"The server of the journal {place} has fsync = off: a power cut may lose runs.",)
    return ()


def _migrate(connection: Connection, place: str) -> None:
    # tables are made in the first schema of the search path
    first = _setting(connection, "search_path").split(",")[0].strip()
    schema = sql.Identifier(connection.info.user if first == '"$user"' else first.strip('"'))
    table = sql.Identifier(_VERSION)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        # another process may have migrated it meanwhile: read the version again under the lock;
        # without it, it may make our tables between two looks, even within one statement
        version = _version(connection, place)
        if not version and has_table(connection, "runs"):
            help = "Name another database, or another schema: ?options=-csearch_path%3DNAME."
            raise _unusable("damaged", place, "its tables are of something else", help)
        for migration in MIGRATIONS[version:]:
            connection.execute(migration)
        if not version:
            connection.execute(sql.SQL("CREATE TABLE {} (version int NOT NULL)").format(table))
            connection.execute(sql.SQL("INSERT INTO {} VALUES (0)").format(table))
        connection.execute(sql.SQL("UPDATE {} SET version = %s").format(table), (len(MIGRATIONS),))


def _version(connection: Connection, place: str) -> int:
    """Return the version of our tables; 0 where they are missing."""
    if not has_table(connection, _VERSION):
        return 0
    query = sql.SQL("SELECT version FROM {}").format(sql.Identifier(_VERSION))
    version = int(cast("tuple[Any]", connection.execute(query).fetchone())[0])
    if version > len(MIGRATIONS):
        message = f"it has version {version}; this program knows {len(MIGRATIONS)}"
        raise _unusable("newer", place, message, "Use the newer toolplan that wrote it.")
    return version


def _unusable(kind: str, place: str, said: str, help: str) -> JournalError:
    return JournalError(f"journal-{kind}", f"The journal {place} cannot be used: {said}.", help)


def _setting(connection: Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    return str(cast("tuple[Any]", row)[0])
