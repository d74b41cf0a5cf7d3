"""The SQL of the journal, for SQLite and Postgres: values stand at question marks.

The two differ in how a row of `runs` says until when its lease lasts.
"""

from __future__ import annotations

from string import Template
from typing import Final

from msgspec import Struct


class LeaseColumns(Struct, frozen=True):
    """How a store writes and reads the end of a lease.

    Attributes:
        names: the columns of a new row.
        new: their values; each question mark takes one of `Driver.lease_values`.
        renewed: the same, as assignments.
        held: what `Driver.check_free` and `Driver.is_free` take, after the owner and the token.
        locked: what follows a query whose rows nobody else may change in this transaction.
    """

    names: str
    new: str
    renewed: str
    held: str
    locked: str = ""


class Statements:
    """The statements of a store with `columns`."""

    def __init__(self, columns: LeaseColumns) -> None:
        known = {name: getattr(columns, name) for name in columns.__struct_fields__}
        self.add_run = _ADD_RUN.substitute(known)
        self.add_group = _ADD_GROUP.substitute(known)
        self.look = _LOOK.substitute(known)
        self.take = _TAKE.substitute(known)
        self.entries = _ENTRIES.substitute(known)


_ADD_RUN: Final = Template(
    "INSERT INTO runs"
    " (run, created_at, digest, record, checksum, status, next_seq, owner, token, $names)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, $new) ON CONFLICT (run) DO NOTHING RETURNING run"
)
# Who released the run may still renew its lease: nobody has it then. A token may come again only
# after the journal lost records; with the owner it is refused all the same.
_ADD_GROUP: Final = Template(
    "UPDATE runs SET $renewed, next_seq = next_seq + ?, status = coalesce(?, status)"
    " WHERE run = ? AND token = ? AND owner IN (?, '') AND (? = 0 OR next_seq = ?) RETURNING run"
)
_LOOK: Final = Template("SELECT next_seq, owner, token, $held FROM runs WHERE run = ?$locked")
_TAKE: Final = Template("UPDATE runs SET owner = ?, token = token + 1, $renewed WHERE run = ?")
_ENTRIES: Final = Template(
    "SELECT run, status, created_at, digest, checksum, record, owner, token, $held"
    " FROM runs WHERE ? IN ('', run) AND (created_at < ? OR (created_at = ? AND run > ?))"
    " ORDER BY created_at DESC, run LIMIT ?"
)

FIND_HELD: Final = "SELECT next_seq FROM runs WHERE run = ? AND token = ? AND owner IN (?, '')"
ADD_APPROVAL: Final = "INSERT INTO approvals VALUES (?, ?) ON CONFLICT (approval) DO NOTHING"
FIND_APPROVAL: Final = "SELECT run FROM approvals WHERE approval = ?"
RELEASE: Final = "UPDATE runs SET owner = '' WHERE run = ? AND token = ? AND owner = ?"
REVOKE: Final = (
    "UPDATE runs SET owner = '', token = token + 1 WHERE run = ? AND owner = ? RETURNING run"
)
HAS_MORE: Final = "SELECT 1 FROM runs WHERE run = ? AND next_seq > ?"
