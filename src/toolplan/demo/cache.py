"""What the demo has generated, kept for the next process: a file for each day, size and seed.

A file that cannot be read or written is not an error: the rows are then generated again. So they
are when somebody wrote to a file: its time of modification is then not `_SEALED_NS` any more.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolplan.lazy import lazy_module

if TYPE_CHECKING:
    import tempfile

    import platformdirs
else:
    tempfile = lazy_module("tempfile")
    platformdirs = lazy_module("platformdirs")


VARIABLE: Final = "TOOLPLAN_CACHE"
"""The environment variable that names the folder; without it, the platform's for caches."""

_SUFFIX: Final = ".demo.sqlite"
_SEALED_NS: Final = 946_684_800_000_000_000  # 1 January 2000
_MOST_FILES: Final = 8


def find(key: str) -> Path | None:
    """Return the file of the database that was saved as `key`, None where there is none."""
    path = _folder() / f"{key}{_SUFFIX}"
    try:
        return path if path.stat().st_mtime_ns == _SEALED_NS else None
    except OSError:
        return None


def load(key: str) -> bytes | None:
    """Return the database image that was saved as `key`, None where there is none."""
    path = find(key)
    try:
        return None if path is None else path.read_bytes()
    except OSError:  # another process has removed it
        return None


def save(key: str, image: bytes) -> None:
    """Save a database image as `key`, and remove the oldest ones beyond a few."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # written beside and renamed: no other process reads half of it
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())  # or a sealed file might be half of one after a loss of power
        os.utime(file.name, ns=(_SEALED_NS, _SEALED_NS))
        os.replace(file.name, folder / f"{key}{_SUFFIX}")
        saved = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_ctime)
        for old in saved[:-_MOST_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs time, not an answer


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)
