"""What the demo has generated, kept for the next process: a file for each day, size and seed.

A file that cannot be read or written is not an error: the rows are then generated again. So they
are when somebody wrote to a file, or cut it off: its time of modification, which says its size, is
then another one. Where a file system keeps no such time, each process generates the rows anew.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

import platformdirs

VARIABLE: Final = "TOOLPLAN_CACHE"
"""The environment variable that names the folder; without it, the platform's for caches."""

_SUFFIX: Final = ".demo.sqlite"
_SEALED_S: Final = 946_684_800  # 1 January 2000
_MOST_FILES: Final = 8


def find(key: str) -> Path | None:
    """Return the file of the database that was saved as `key`, None where there is none."""
    path = _folder() / f"{key}{_SUFFIX}"
    try:
        found = path.stat()
    except OSError:
        return None
    return path if found.st_mtime_ns == _seal_ns(found.st_size) else None


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
        _write(folder / f"{key}{_SUFFIX}", image)
        saved = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_ctime)
        for old in saved[:-_MOST_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs time, not an answer


def _write(path: Path, image: bytes) -> None:
    # written beside and renamed: no other process reads half of it
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())  # or a sealed file might be half of one after a loss of power
        seal = _seal_ns(len(image))
        os.utime(name, ns=(seal, seal))
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _seal_ns(size: int) -> int:
    """Return the time of modification of a file of `size` bytes to which nobody wrote."""
    return (_SEALED_S + 2 * size) * 1_000_000_000  # some file systems have only even seconds


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)
