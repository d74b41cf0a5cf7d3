"""The journal: the events of runs in SQLite, from which runs are resumed."""

from toolplan.storage.journal._sqlite import Journal, backup
from toolplan.storage.journal.errors import (
    JournalError,
    LeaseHeld,
    LeaseLost,
    NotReached,
    RecordsLost,
)
from toolplan.storage.journal.leases import Lease
from toolplan.storage.journal.opening import Place, is_address, open_journal
from toolplan.storage.journal.reading import BLOB, RunEntry, RunRecord, named_blobs
from toolplan.storage.journal.records import (
    KEPT_DURATIONS,
    BadRecord,
    from_record,
    record_fields,
    to_record,
)
from toolplan.storage.journal.recovery import Recovered, Slot, recover
from toolplan.storage.journal.store import Pruning, Store, follow
from toolplan.storage.journal.worker import Worker, WriterThread, settle
from toolplan.storage.journal.writer import Writer

__all__ = [
    "BLOB",
    "KEPT_DURATIONS",
    "BadRecord",
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
    "record_fields",
    "recover",
    "settle",
    "to_record",
]
