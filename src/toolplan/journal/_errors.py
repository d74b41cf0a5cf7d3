"""What can go wrong with a journal, by name."""

from __future__ import annotations

import sqlite3
from typing import Final

from toolplan.database_file import fault_of


class JournalError(Exception):
    """The journal cannot be read or written; `code` names why, `help` is the way out.

    Codes: `journal-locked`, `journal-full`, `journal-read-only`, `journal-unavailable`,
    `journal-damaged`, `journal-newer`, `journal-taken`, `unknown-run`, `run-exists`.
    """

    def __init__(self, code: str, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.help = help_


class LeaseLost(JournalError):
    """Another process has taken the run over; what this one would still write is refused."""

    def __init__(self, run: str) -> None:
        super().__init__(
            "journal-taken",
            f"Another process has taken over run {run!r}; this one has stopped.",
            f"`toolplan show {run}` tells how the run stands.",
        )


_HELP: Final = {
    "journal-locked": "Another program holds the file; end it, or wait, and resume the run.",
    "journal-full": "Make room on the disk, and resume the run.",
    "journal-read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
    "journal-unavailable": "See to the disk and the folder, and resume the run.",
    "journal-damaged": "Set the file aside and restore it from a copy.",
}

MAY_PASS: Final = frozenset(
    ("journal-locked", "journal-full", "journal-read-only", "journal-unavailable")
)
"""The codes of faults that may be gone in a while, so that writing again makes sense."""


def journal_error(error: sqlite3.Error | OSError, path: str) -> JournalError:
    """Give `error`, which came up with the journal at `path`, by its name."""
    kind, reason = fault_of(error)
    code = f"journal-{kind}"
    return JournalError(code, f"The journal {path} cannot be used: {reason}.", _HELP[code])
