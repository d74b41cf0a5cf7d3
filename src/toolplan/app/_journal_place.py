"""Where the user's journal is, and how it is opened."""

from __future__ import annotations

from pathlib import Path

from toolplan.app.home import JOURNAL, home
from toolplan.app.settings import Settings, read_settings
from toolplan.storage.journal import Place, Store, is_address, open_journal


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
