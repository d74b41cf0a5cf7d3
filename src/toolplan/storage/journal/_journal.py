"""The journal in one SQLite file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from toolplan.storage.journal._leases import LEASE_S, Leases
from toolplan.storage.journal._sqlite import FileDriver
from toolplan.storage.journal._store import Store
from toolplan.storage.journal._worker import Worker, WriterThread


class Journal(Store):
    """The events of runs in one SQLite file, large ones in a folder beside it."""

    _driver: FileDriver

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] | None = None,
        boot: str | None = None,
    ) -> None:
        """Open the journal at `path`; create it if it does not exist.

        `clock` returns seconds since the epoch, and `owner` names this process. Leases are measured
        with `age_clock`, in seconds since some moment; `boot` names it, and is equal in all
        processes that see the same clock.

        Raises:
            JournalError: the file cannot be opened.
        """
        self.path = Path(path)
        driver = FileDriver(self.path, Leases(owner, lease_s, age_clock, boot))
        super().__init__(driver, clock, WriterThread() if worker is None else worker)
