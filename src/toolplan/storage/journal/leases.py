"""Leases: which process may write a run.

Their age counts, on a clock that nobody sets and that counts the time in which a process or the
machine slept. Whoever shares that clock reads the age; anybody else watches for as long as a lease
lasts whether the owner still writes.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolplan.storage.journal.errors import JournalError, LeaseHeld

_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def since_boot() -> float:
    """Return the seconds since the machine started, sleep included."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


@cache
def this_boot() -> str:
    """Return a name for `since_boot`, equal in processes that see the same clock; empty if unknown.

    Containers may have a clock of their own.
    """
    if _CLOCK is None:
        return ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        return f"{boot} {os.readlink('/proc/self/ns/time')}"
    except OSError:
        return ""


def this_process() -> str:
    """Return the name of this process."""
    return f"{_machine()}:{os.getpid()}"


def process_text(owner: str) -> str:
    """Return `owner` in words."""
    machine, _, number = owner.rpartition(":")
    return f"process {number} on {machine.partition('pid:[')[0]}"


def _machine() -> str:
    # containers may share the host name, and each counts its processes from 1
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()}{space}"


def is_gone(owner: str) -> bool:
    """Return whether `owner` is a process of this machine that has certainly ended."""
    return _is_there(owner) is False


def lives(owner: str) -> bool:
    """Return whether `owner` is a process of this machine that has not ended."""
    return _is_there(owner) is True


def _is_there(owner: str) -> bool | None:
    machine, _, number = owner.rpartition(":")
    if machine != _machine() or os.name == "nt" or not number.isdecimal():
        return None
    with suppress(OSError, IndexError):
        # it has ended where it only waits for its parent to take notice
        status = Path(f"/proc/{int(number)}/stat").read_text("utf-8", "replace")
        if status.rpartition(")")[2].split()[0] in ("Z", "X"):
            return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OSError:
        return None
    return True


LEASE_S: Final = 10.0
"""Seconds after its last write for which a process has the lease of a run."""

_OWN_SHARE: Final = 0.8
"""The share of that time in which the owner itself relies on its lease."""


class Lease(Struct, frozen=True):
    """The right to write a run. `token` grows with each owner; an older one is refused.

    `at` is the position of the next record when the lease was taken. `previous_owner`
    names the process that had the lease, if it still exists; else it is empty.
    """

    run: str
    token: int
    at: int
    previous_owner: str = ""


class Held(Struct, frozen=True):
    """The lease of a run in the file: its owner (empty for none), and when it was written last.

    `beat` is a time of the clock that `boot` names.
    """

    owner: str
    token: int
    boot: str
    beat: float


class Claims:
    """The runs of one process, each with the moment of the last write that renewed its lease.

    A run is claimed here before its row is written, and given up after the row: otherwise two
    tasks of one process could both take it. `now` returns seconds of a clock that nobody sets.
    """

    def __init__(self, lease_s: float, now: Callable[[], float]) -> None:
        self.now = now
        self.lease_s = lease_s
        self._beats: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, run: str) -> bool:
        """Claim `run` for this process, unless it has it; nothing relies on that yet."""
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
        return beat is not None and 0 <= self.now() - beat < _OWN_SHARE * self.lease_s


class Leases(Claims):
    """The leases of one process in a file: its name, and the clock by which it renewed them."""

    def __init__(
        self, owner: str, lease_s: float, age_clock: Callable[[], float] | None, boot: str | None
    ) -> None:
        super().__init__(lease_s, age_clock or since_boot)
        self.owner = owner or this_process()
        self.boot = this_boot() if boot is None else boot

    def check_free(self, run: str, held: Held, watched: tuple[int, float] | None) -> str:
        """Check that the lease of `run` is free, and return the process that had it, if it lives.

        `watched` is the mark of a `LeaseHeld` that is as old as a lease lasts.

        Raises:
            LeaseHeld: it is not, or it is not known.
        """
        if held.owner in ("", self.owner) or is_gone(held.owner):
            return ""
        mark = (held.token, held.beat)
        age = self.age_of(held)
        if age is not None and age < self.lease_s:
            raise LeaseHeld(run, process_text(held.owner), self.lease_s, None)
        if age is None and watched != mark:
            raise LeaseHeld(run, process_text(held.owner), self.lease_s, mark)
        return process_text(held.owner) if lives(held.owner) else ""

    def is_free(self, held: Held) -> bool:
        """Return whether a run is certainly free."""
        age = self.age_of(held)
        return not held.owner or (age is not None and age >= self.lease_s) or is_gone(held.owner)

    def age_of(self, held: Held) -> float | None:
        """Return the seconds since the last write of its owner; None where no clock is shared."""
        age = self.now() - held.beat
        return age if self.boot and held.boot == self.boot and age >= 0 else None
