"""The user's data folder, and the journal in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import platformdirs

from toolplan.errors import ToolplanError
from toolplan.storage.journal import Journal

VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
MEMORY: Final = "memory.sqlite"
LEARNED: Final = "learned.sqlite"


def home() -> Path:
    """Return the folder of `TOOLPLAN_HOME`, else the platform's folder for a user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)


def open_journal(path: Path | None = None) -> Journal:
    """Open the journal at `path`, by default the user's own; make it where there is none.

    Raises:
        ToolplanError: its folder cannot be made.
        JournalError: it cannot be opened.
    """
    file = home() / JOURNAL if path is None else path
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolplanError(
            "journal-unavailable",
            f"The folder {file.parent} cannot be made: {reason}.",
            f"Name another one: {VARIABLE}=FOLDER.",
        ) from None
    return Journal(file)


def existing_journal() -> Journal | None:
    """Open the user's journal if there is one.

    Raises:
        JournalError: it cannot be opened.
    """
    return open_journal() if (home() / JOURNAL).exists() else None
