"""Queues of runs for workers, beside a journal that many machines share."""

from __future__ import annotations

from toolplan.extras import install_command
from toolplan.storage.journal import JournalError, SharedJournal, Store
from toolplan.storage.queue._dispatch import (
    COUNTED,
    Dispatch,
    Message,
    Placement,
    lock_of,
)
from toolplan.storage.queue._places import Held
from toolplan.storage.queue._queue import Again, Handle, Job, Queue, has_table
from toolplan.storage.queue._retention import prune_shared

__all__ = [
    "COUNTED",
    "Again",
    "Dispatch",
    "Handle",
    "Held",
    "Job",
    "Message",
    "Placement",
    "Queue",
    "SharedJournal",
    "dispatch_of",
    "lock_of",
    "prune_shared",
]


def dispatch_of(journal: Store, *, make: bool = True) -> Dispatch | None:
    """Return the runs of `journal` that workers take; None where workers cannot share it.

    Without `make` it is also None where workers have never shared it: nothing is written.

    Raises:
        JournalError: the library of the queue is not installed, or the database cannot be used.
    """
    if not isinstance(journal, SharedJournal):
        return None
    if not make:
        with journal.transaction() as connection:
            if not has_table(connection, "placements"):
                return None
    try:
        from toolplan.storage.queue.procrastinate import ProcrastinateQueue
    except ImportError as error:
        raise JournalError(
            "journal-unavailable",
            f"Workers need the extra 'distributed': {str(error).partition(chr(10))[0]}.",
            f"Install it: {install_command('distributed')}",
        ) from None
    queue = ProcrastinateQueue(journal.conninfo)
    return Dispatch(journal, queue)
