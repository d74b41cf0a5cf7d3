"""Queues of runs for workers, beside a journal that many machines share."""

from __future__ import annotations

from importlib import import_module

from toolplan.extras import install_command
from toolplan.storage.journal import JournalError, Store
from toolplan.storage.queue._dispatch import (
    COUNTED,
    Dispatch,
    Message,
    Placement,
    SharedJournal,
    lock_of,
)
from toolplan.storage.queue._queue import Again, Handle, Job, Queue
from toolplan.storage.queue._retention import prune_shared

__all__ = [
    "COUNTED",
    "Again",
    "Dispatch",
    "Handle",
    "Job",
    "Message",
    "Placement",
    "Queue",
    "SharedJournal",
    "dispatch_of",
    "lock_of",
    "prune_shared",
]


def dispatch_of(journal: Store) -> Dispatch | None:
    """Return the runs of `journal` that workers take; None where workers cannot share it.

    Raises:
        JournalError: the library of the queue is not installed, or the database cannot be used.
    """
    if not isinstance(journal, SharedJournal):
        return None
    try:
        library = import_module("toolplan.storage.queue.procrastinate")
    except ImportError as error:
        raise JournalError(
            "journal-unavailable",
            f"Workers need the extra 'distributed': {str(error).partition(chr(10))[0]}.",
            f"Install it: {install_command('distributed')}",
        ) from None
    queue = library.ProcrastinateQueue(journal.conninfo)
    return Dispatch(journal, queue, queue.tables())
