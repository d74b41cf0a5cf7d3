"""The SQL of the journal in Postgres."""

from __future__ import annotations

from typing import Final

ENTRIES: Final = (
    "SELECT run, status, created_at, digest, checksum, record, owner,"
    " lease_until <= clock_timestamp()"
    " FROM runs WHERE ? IN ('', run) AND (created_at < ? OR (created_at = ? AND run > ?))"
    " ORDER BY created_at DESC, run LIMIT ?"
)
"""For `read_entry`: the values stand at question marks, as in SQLite."""

ADD_RUN: Final = """
    WITH new AS (
        INSERT INTO runs VALUES (
            %(run)s, %(created)s, %(status)s, %(digest)s, %(record)s, %(owner)s, %(token)s,
            clock_timestamp() + make_interval(secs => %(lease_s)s), %(size)s, %(checksum)s
        ) ON CONFLICT (run) DO NOTHING RETURNING run
    ), kept AS (
        INSERT INTO events SELECT run, 0, %(event)s, %(checksums)s FROM new
    )
    SELECT count(*) FROM new
"""

# One statement, so one way to the server and back, and nothing waits in an open transaction. Who
# released the run may still renew its lease: nobody has it then. A token may come again only after
# the server lost records; with the owner it is refused all the same.
ADD_GROUP: Final = """
    WITH held AS (
        UPDATE runs SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
            next_seq = next_seq + %(size)s, status = coalesce(%(status)s, status)
        WHERE run = %(run)s AND token = %(token)s AND owner IN (%(owner)s, '')
            AND (%(size)s = 0 OR next_seq = %(at)s)
        RETURNING run
    ), kept AS (
        INSERT INTO events
        SELECT run, %(at)s, %(event)s, %(checksums)s FROM held WHERE %(size)s > 0
    )
    SELECT count(*) FROM held
"""

FIND_HELD: Final = (
    "SELECT next_seq FROM runs WHERE run = %(run)s AND token = %(token)s"
    " AND owner IN (%(owner)s, '')"
)

ADD_BLOB: Final = "INSERT INTO blobs VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"

ADD_APPROVAL: Final = "INSERT INTO approvals VALUES (%s, %s) ON CONFLICT (approval) DO NOTHING"

LOOK_AT_LEASE: Final = (
    "SELECT next_seq, owner, token, lease_until <= clock_timestamp() FROM runs WHERE run = %s"
    " FOR UPDATE"
)

# Nobody has it, so who had it before does not matter. One way to the server and back.
TAKE_FREE: Final = (
    "UPDATE runs SET owner = %s, token = token + 1,"
    " lease_until = clock_timestamp() + make_interval(secs => %s)"
    " WHERE run = %s AND owner = '' RETURNING next_seq, token"
)

TAKE: Final = (
    "UPDATE runs SET owner = %s, token = token + 1,"
    " lease_until = clock_timestamp() + make_interval(secs => %s) WHERE run = %s"
)

RELEASE: Final = "UPDATE runs SET owner = '' WHERE run = %s AND token = %s AND owner = %s"

REVOKE: Final = "UPDATE runs SET owner = '', token = token + 1 WHERE run = %s AND owner = %s"

ADD_DURATIONS: Final = (
    "INSERT INTO durations VALUES (%s, %s, %s, %s) ON CONFLICT (tool, run) DO UPDATE SET"
    " at = excluded.at, seconds = durations.seconds || excluded.seconds"
)

TRIM_DURATIONS: Final = (
    "DELETE FROM durations WHERE tool = %(tool)s AND at < (SELECT at FROM durations"
    " WHERE tool = %(tool)s ORDER BY at DESC OFFSET %(kept)s LIMIT 1)"
)
