"""What can go wrong with a journal, by name."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from toolplan.storage.database_file import fault_of


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


# many commands have no run to go on with
_AGAIN: Final = "try again; a run that had begun can be resumed."
_HELP: Final = {
    "journal-locked": f"Another program holds the file; end it, or wait, and {_AGAIN}",
    "journal-full": f"Make room on the disk, and {_AGAIN}",
    "journal-read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
    "journal-unavailable": f"See to the disk, the file and its folder, and {_AGAIN}",
    "journal-damaged": (
        "Set the file aside and restore it from a copy. Without a copy, move it away, and with it"
        " the folder NAME-blobs beside it: the runs in it are lost, and a new journal is made."
    ),
}

MAY_PASS: Final = frozenset(
    ("journal-locked", "journal-full", "journal-read-only", "journal-unavailable")
)
"""The codes of faults that may be gone in a while, so that writing again makes sense."""


def journal_error(error: sqlite3.Error | OSError, path: str) -> JournalError:
    """Return `error`, which came up with the journal at `path`, by its name."""
    kind, reason = fault_of(error)
    code = f"journal-{kind}"
    help_ = _HELP[code].replace("NAME", Path(path).name)
    return JournalError(code, f"The journal {path} cannot be used: {reason}.", help_)
