"""The journal: the events of runs in SQLite, from which runs are resumed."""

from toolplan.storage.journal._entries import RunEntry, RunRecord
from toolplan.storage.journal._errors import (
    JournalError,
    LeaseHeld,
    LeaseLost,
    NotReached,
    RecordsLost,
)
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._opening import Place, is_address, open_journal
from toolplan.storage.journal._reading import BLOB, named_blobs
from toolplan.storage.journal._records import BadRecord, from_record, record_fields, to_record
from toolplan.storage.journal._recovery import Recovered, Slot, recover
from toolplan.storage.journal._retention import Pruning, backup, prune
from toolplan.storage.journal._rows import KEPT_DURATIONS
from toolplan.storage.journal._sqlite import Journal
from toolplan.storage.journal._store import Connection, SharedJournal, Store, follow
from toolplan.storage.journal._worker import Worker, WriterThread, settle
from toolplan.storage.journal._writer import Writer

__all__ = [
    "BLOB",
    "KEPT_DURATIONS",
    "BadRecord",
    "Connection",
    "Journal",
    "JournalError",
    "Lease",
    "LeaseHeld",
    "LeaseLost",
    "NotReached",
    "Place",
    "Pruning",
    "RecordsLost",
    "Recovered",
    "RunEntry",
    "RunRecord",
    "SharedJournal",
    "Slot",
    "Store",
    "Worker",
    "Writer",
    "WriterThread",
    "backup",
    "follow",
    "from_record",
    "is_address",
    "named_blobs",
    "open_journal",
    "prune",
    "record_fields",
    "recover",
    "settle",
    "to_record",
]
