"""The journal in Postgres, with the runs that workers take."""

from __future__ import annotations

from toolplan_workers.postgres import PostgresJournal
from toolplan_workers.postgres.connections import has_table
from toolplan_workers.queue.dispatch import Dispatch


class SharedJournal(PostgresJournal):
    """The journal that `open_journal` opens at an address of Postgres."""

    def worker_runs(self, *, make: bool = False) -> Dispatch | None:
        """Return the runs that workers take; None where they have never shared the journal.

        With `make` they share it from now on.
        """
        if not make:
            with self.transaction() as connection:
                if not has_table(connection, "placements"):
                    return None
        return Dispatch(self)
