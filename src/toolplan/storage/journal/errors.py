"""Errors of the journal."""

from __future__ import annotations

from typing import Final

from toolplan.base.errors import ToolplanError


class JournalError(ToolplanError):
    """The journal cannot be read or written.

    Codes: `journal-locked`, `journal-full`, `journal-read-only`, `journal-unavailable`,
    `journal-damaged`, `journal-newer`, `journal-taken`, `unknown-run`, `run-exists`,
    `approval-used`.
    """


class LeaseLost(JournalError):
    """The run belongs to another process now; further writes are refused.

    `reason` is a clause; without it another process has taken the run over.
    """

    def __init__(self, run: str, reason: str = "") -> None:
        reason = reason or f"Another process has taken over run {run!r}"
        super().__init__(
            "journal-taken",
            f"{reason}; this one has stopped.",
            f"`toolplan show {run}` shows the state of the run.",
        )


class RecordsLost(LeaseLost):
    """The server lost acknowledged records, for example in an asynchronous failover."""

    def __init__(self, run: str, missing: int) -> None:
        super().__init__(run, f"The journal has lost {missing} records of run {run!r}")


class NotReached(JournalError):
    """The server of the journal cannot be reached, or is still starting."""


class LeaseHeld(JournalError):
    """Another process may be at work on a run.

    `mark` is what its next write will change, where only time can show whether it still works;
    None where it is at work for certain.
    """

    def __init__(
        self, run: str, owner: str, lease_s: float, mark: tuple[int, float] | None
    ) -> None:
        super().__init__(
            "journal-taken",
            f"Run {run!r} is being worked on by {owner}.",
            "Wait for it, or end it. If it hangs or is gone, its lease ends "
            f"{lease_s:g} s after its last write.",
        )
        self.mark = mark


MAY_PASS: Final = frozenset(
    ("journal-locked", "journal-full", "journal-read-only", "journal-unavailable")
)
"""The codes of temporary faults, after which the writer tries again."""
