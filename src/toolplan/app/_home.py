"""The user's data folder, and where the journal is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import platformdirs

from toolplan.app.settings import Settings, read_settings
from toolplan.storage.journal import Place, Store, is_address, open_journal

VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
MEMORY: Final = "memory.sqlite"
LEARNED: Final = "learned.sqlite"


def home() -> Path:
    """Return the folder of `TOOLPLAN_HOME`, else the platform's folder for a user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)


def journal_place(settings: Settings, given: Place | None = None) -> Path | str:
    """Return where the journal is: a file, or the address of a database.

    It is what is given, else what is set, else the file in the user's folder.

    Raises:
        SettingsError: what is set cannot be used.
    """
    place = settings.journal if given is None else given
    if place is None:
        return home() / JOURNAL
    return str(place) if is_address(place) else Path(place).expanduser()


def user_journal(given: str | None = None) -> Path | str:
    """Return where the journal of a command is; `given` is its option."""
    return journal_place(read_settings(home()), given)


def existing_journal(given: str | None = None) -> Store | None:
    """Open the journal of a command, if there is one.

    Raises:
        JournalError: it cannot be opened.
    """
    return journal_at(user_journal(given))


def journal_at(place: Path | str) -> Store | None:
    """Open the journal at `place`; None where it is a file that does not exist.

    Raises:
        JournalError: it cannot be opened.
    """
    if isinstance(place, Path) and not place.exists():
        return None
    return open_journal(place)
