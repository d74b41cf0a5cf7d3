"""The one door to journals: a file, or a database by its address."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from toolplan.base import extras
from toolplan.base.extensions import Extensions
from toolplan.storage.journal._sqlite import Journal
from toolplan.storage.journal.errors import JournalError
from toolplan.storage.journal.store import Store

Place: TypeAlias = str | os.PathLike[str]
"""The path of a file, or an address that begins with `postgres://`."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""What an address begins with, also one with a typo: as a path it would show its password."""


def is_address(place: Place) -> bool:
    """Return whether `place` is the address of a database, or meant to be one, and not a path."""
    return isinstance(place, str) and _ADDRESS.match(place) is not None


def open_journal(place: Place) -> Store:
    """Open the journal at `place`; create it if it does not exist.

    Raises:
        JournalError: it cannot be opened.
        ToolplanError: no package that is installed opens such an address.
    """
    if is_address(place):
        address = str(place)
        scheme = address.partition(":")[0].lower()
        offered = Extensions[Callable[[str], Store]]("toolplan.journals")
        if "://" in address and scheme in offered:
            return offered[scheme](address)
        if "://" in address:
            extras.check_beside("journal", scheme, f"A journal at {scheme}://…")
        raise JournalError(
            "journal-address",
            "The address of the journal is of no database that is known.",
            "Write postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file.",
        )
    file = Path(place)
    if not file.name:
        raise JournalError(
            "journal-unavailable",
            f"{str(place)!r} names no file for the journal.",
            "Give the path of a file, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.",
        )
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
