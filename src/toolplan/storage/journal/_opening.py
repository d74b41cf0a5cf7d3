"""The one door to journals: a file, or a database by its address."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

from toolplan.extras import install_command
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._journal import Journal
from toolplan.storage.journal._store import Store

Place: TypeAlias = str | os.PathLike[str]
"""The path of a file, or an address that begins with `postgres://`."""

SCHEMES: Final = ("postgres://", "postgresql://")


def is_address(place: Place) -> bool:
    """Return whether `place` is the address of a database, not a path."""
    return isinstance(place, str) and place.lower().startswith(SCHEMES)


def open_journal(place: Place) -> Store:
    """Open the journal at `place`; create it if it does not exist.

    Raises:
        JournalError: it cannot be opened.
    """
    if is_address(place):
        return _postgres()(str(place))
    file = Path(place)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JournalError(
            "journal-unavailable",
            f"The folder {file.parent} cannot be made: {reason}.",
            "Name another place: TOOLPLAN_JOURNAL=FILE, or another folder: TOOLPLAN_HOME=FOLDER.",
        ) from None
    return Journal(file)


def _postgres() -> Callable[[str], Store]:
    """Return what opens journals in Postgres; its library is loaded only for them."""
    try:
        return import_module("toolplan.storage.journal.postgres").PostgresJournal
    except ImportError as error:
        reason = str(error).partition("\n")[0]
    raise JournalError(
        "journal-unavailable",
        f"A journal in Postgres needs the extra 'distributed': {reason}.",
        f"Install it: {install_command('distributed')}",
    )
