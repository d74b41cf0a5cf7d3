"""What the demo has generated, kept for the next process: a file for each day, size and seed.

A file that cannot be read or written is not an error: the rows are then generated again.
"""

from __future__ import annotations

import os
import zlib
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
_SUM_BYTES: Final = 4
_PIECE_BYTES: Final = 65_536
_MOST_FILES: Final = 8


def find(key: str) -> Path | None:
    """Return the file of the database that was saved as `key`, None where there is none."""
    path = _folder() / f"{key}{_SUFFIX}"
    found = 0
    try:
        left = path.stat().st_size - _SUM_BYTES
        if left <= 0:
            return None
        with path.open("rb", buffering=0) as file:
            while left and (piece := file.read(min(left, _PIECE_BYTES))):
                found = zlib.crc32(piece, found)
                left -= len(piece)
            whole = left == 0 and file.read(_SUM_BYTES) == found.to_bytes(_SUM_BYTES, "big")
    except OSError:
        return None
    return path if whole else None


def load(key: str) -> bytes | None:
    """Return the database image that was saved as `key`, None where there is none."""
    path = find(key)
    try:
        return None if path is None else path.read_bytes()[:-_SUM_BYTES]
    except OSError:  # another process has removed it
        return None


def save(key: str, image: bytes) -> None:
    """Save a database image as `key`, and remove the oldest ones beyond a few."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # written beside and renamed: no other process reads half of it
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(image + _checksum(image))
        os.replace(file.name, folder / f"{key}{_SUFFIX}")
        saved = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
        for old in saved[:-_MOST_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs time, not an answer


def _checksum(image: bytes) -> bytes:
    return zlib.crc32(image).to_bytes(_SUM_BYTES, "big")


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)
