"""Which runs this process has, and until when it may rely on that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from toolplan.storage.journal._errors import JournalError

_OWN_SHARE: Final = 0.8
"""The share of a lease in which its owner relies on it."""


class Claims:
    """The runs of one process, each with the moment of the last write that renewed its lease.

    A run is claimed here before its row is written, and given up after the row: otherwise two
    tasks of one process could both take it. `now` returns seconds of a clock that nobody sets.
    """

    def __init__(self, lease_s: float, now: Callable[[], float]) -> None:
        self.now = now
        self._lease_s = lease_s
        self._beats: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, run: str) -> bool:
        """Claim `run` for this process, unless it has it; nobody relies on that yet."""
        with self._lock:
            if run in self._beats:
                return False
            self._beats[run] = float("-inf")
            return True

    @contextmanager
    def claimed(self, run: str, held: JournalError) -> Generator[None]:
        """Claim `run` for the block, and keep the claim unless the block fails.

        Raises:
            JournalError: `held`; this process has the run already.
        """
        if not self.add(run):
            raise held
        try:
            yield
        except BaseException:
            self.drop(run)
            raise

    def has(self, run: str) -> bool:
        """Return whether `run` is claimed for this process."""
        with self._lock:
            return run in self._beats

    def renew(self, run: str, beat: float) -> None:
        """Note that a write that began at `beat` has renewed the lease of `run`, if it is ours."""
        with self._lock:
            if run in self._beats:
                self._beats[run] = beat

    def drop(self, run: str) -> None:
        """Release the claim on `run`."""
        with self._lock:
            self._beats.pop(run, None)

    def is_current(self, run: str) -> bool:
        """Return whether no other process can have taken `run` over until now."""
        beat = self._beats.get(run)
        return beat is not None and 0 <= self.now() - beat < _OWN_SHARE * self._lease_s
