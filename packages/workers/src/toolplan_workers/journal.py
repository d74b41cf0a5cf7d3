"""The journal in Postgres, with the runs that workers take from it."""

from __future__ import annotations

from toolplan.storage.journal import Pruning
from toolplan_workers.postgres import PostgresJournal
from toolplan_workers.queue.dispatch import Dispatch, dispatch_of
from toolplan_workers.queue.retention import prune_shared


class SharedJournal(PostgresJournal):
    """What `open_journal` opens at an address of Postgres."""

    def worker_runs(self, *, make: bool = False) -> Dispatch | None:
        """Return the runs that workers take; None where they have never shared the journal.

        With `make` they share it from now on.
        """
        return dispatch_of(self, make=make)

    def prune(self, *, older_than_s: float, keep: int, apply: bool = False) -> Pruning:
        """Remove older runs that are over."""
        return prune_shared(self, older_than_s=older_than_s, keep=keep, apply=apply)
