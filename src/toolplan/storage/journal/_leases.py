"""Leases: which process may write a run.

Their age counts, on a clock that nobody sets and that counts the time in which a process or the
machine slept. Whoever shares that clock reads the age; anybody else watches for as long as a lease
lasts whether the owner still writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from toolplan.storage.journal import _processes
from toolplan.storage.journal._errors import LeaseHeld

LEASE_S: Final = 10.0
"""Seconds after its last write for which a process has the lease of a run."""

_OWN_SHARE: Final = 0.8
"""The share of that time in which the owner itself relies on its lease."""


class Lease(Struct, frozen=True):
    """The right to write a run. `token` grows with each owner; an older one is refused.

    `at` is the position of the next record when the lease was taken. `before` is the process that
    had the lease before, in words, if it still exists; else it is empty.
    """

    run: str
    token: int
    at: int
    before: str = ""


class Held(Struct, frozen=True):
    """The lease of a run in the file: its owner (empty for none), and when it was written last.

    `beat` is a time of the clock that `boot` names.
    """

    owner: str
    token: int
    boot: str
    beat: float


class Leases:
    """The leases of one process: its name, its clock, and when it renewed each of them."""

    def __init__(
        self, owner: str, lease_s: float, age_clock: Callable[[], float] | None, boot: str | None
    ) -> None:
        self.owner = owner or _processes.this_process()
        self.boot = _processes.this_boot() if boot is None else boot
        self.lease_s = lease_s
        self.now = _processes.since_boot if age_clock is None else age_clock
        self._renewed: dict[str, float] = {}

    def renew(self, run: str, beat: float) -> None:
        """Note that a write that began at `beat` has renewed the lease."""
        self._renewed[run] = beat

    def forget(self, run: str) -> None:
        """Note that this process does not work on the run any more."""
        self._renewed.pop(run, None)

    def is_current(self, run: str) -> bool:
        """Return whether no other process can have taken the run over until now."""
        beat = self._renewed.get(run)
        return beat is not None and 0 <= self.now() - beat < _OWN_SHARE * self.lease_s

    def check_free(self, run: str, held: Held, watched: tuple[int, float] | None) -> str:
        """Check that the lease of `run` is free, and return the process that had it, if it lives.

        `watched` is the mark of a `LeaseHeld` that is as old as a lease lasts.

        Raises:
            LeaseHeld: it is not, or it is not known.
        """
        mine = held.owner == self.owner and run not in self._renewed
        if not held.owner or mine or _processes.is_gone(held.owner):
            return ""
        mark = (held.token, held.beat)
        age = self.age_of(held)
        if age is not None and age < self.lease_s:
            raise LeaseHeld(run, _processes.process_text(held.owner), self.lease_s, None)
        if age is None and watched != mark:
            raise LeaseHeld(run, _processes.process_text(held.owner), self.lease_s, mark)
        return _processes.process_text(held.owner) if _processes.lives(held.owner) else ""

    def is_free(self, held: Held) -> bool:
        """Return whether nobody works on a run for certain."""
        age = self.age_of(held)
        return (
            not held.owner
            or (age is not None and age >= self.lease_s)
            or _processes.is_gone(held.owner)
        )

    def age_of(self, held: Held) -> float | None:
        """Return the seconds since the last write of its owner; None where no clock is shared."""
        age = self.now() - held.beat
        return age if self.boot and held.boot == self.boot and age >= 0 else None
