"""Names that are held in a folder of this machine: what one process at a time does there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolplan.storage import shared_file
from toolplan.storage.journal._errors import JournalError


class FileLocks:
    """Each name is the lock of a file beside the journal's, which ends with its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[str, Callable[[], None]] = {}

    def hold(self, name: str) -> bool:
        """Hold `name`, unless it is held already, here or elsewhere; return whether that worked.

        Raises:
            JournalError: the file cannot be made.
        """
        try:
            release = shared_file.try_lock(self._path.with_name(f"{self._path.name}-{name}"))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise JournalError(
                "journal-unavailable", f"The journal {self._path} cannot be locked: {reason}."
            ) from None
        if release is not None:
            self._held[name] = release
        return release is not None

    def release(self, name: str) -> None:
        """Release `name`."""
        release = self._held.pop(name, None)
        if release is not None:
            release()
