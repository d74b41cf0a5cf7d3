"""The journal: the events of runs in SQLite, from which runs are resumed."""

from toolplan.storage.journal._entries import RunEntry, RunRecord
from toolplan.storage.journal._errors import JournalError, LeaseHeld, LeaseLost
from toolplan.storage.journal._journal import KEPT_DURATIONS, Journal
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._records import BadRecord, from_record, to_record
from toolplan.storage.journal._recovery import Recovered, Slot, recover
from toolplan.storage.journal._retention import Pruning, backup, prune
from toolplan.storage.journal._worker import Worker, WriterThread, settle
from toolplan.storage.journal._writer import Writer

__all__ = [
    "KEPT_DURATIONS",
    "BadRecord",
    "Journal",
    "JournalError",
    "Lease",
    "LeaseHeld",
    "LeaseLost",
    "Pruning",
    "Recovered",
    "RunEntry",
    "RunRecord",
    "Slot",
    "Worker",
    "Writer",
    "WriterThread",
    "backup",
    "from_record",
    "prune",
    "recover",
    "settle",
    "to_record",
]
