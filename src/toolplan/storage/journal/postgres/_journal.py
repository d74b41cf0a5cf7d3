"""The journal in a Postgres database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolplan.storage.journal._leases import LEASE_S, Claims, Lease
from toolplan.storage.journal._processes import since_boot
from toolplan.storage.journal._store import SharedJournal
from toolplan.storage.journal._worker import Worker, WriterThread
from toolplan.storage.journal.postgres._address import read_address
from toolplan.storage.journal.postgres._connections import Connections
from toolplan.storage.journal.postgres._driver import PostgresDriver, query_of

WRITERS: Final = 4
"""Threads that write, each with a connection: one would let runs wait for each other's syncs."""


class PostgresJournal(SharedJournal):
    """The events of runs in a Postgres database; a `Store` for processes on many machines.

    Every commit is synced, and leases count on the server's clock, as do the times at which runs
    are made unless `clock` returns them. `owner` names this object, and `locks` are names that are
    held until this object is closed or its process ends.
    """

    _driver: PostgresDriver

    def __init__(
        self,
        address: str,
        *,
        clock: Callable[[], float] | None = None,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] = since_boot,
    ) -> None:
        """Open the journal at `address`; make its tables where there are none.

        Raises:
            JournalError: the database cannot be used.
        """
        found = read_address(address)
        connections = Connections(found)
        driver = PostgresDriver(connections, Claims(lease_s, age_clock), owner)
        worker = WriterThread(WRITERS) if worker is None else worker
        super().__init__(driver, connections.now if clock is None else clock, worker)
        self.conninfo = found.conninfo
        self.transaction, self.rows = connections.transaction, connections.rows
        self._query_of = query_of

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed."""
        self._driver.forget(lease.run)
        super().forget(lease)
