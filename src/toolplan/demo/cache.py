"""What the demo has generated, kept for the next process: a file for each day, size and seed.

A file that cannot be read or written is not an error: the rows are then generated again.
"""

from __future__ import annotations

import mmap
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
_MOST_FILES: Final = 8


def find(key: str) -> Path | None:
    """Return the file of the database that was saved as `key`, None where there is none."""
    return None if load(key) is None else _folder() / f"{key}{_SUFFIX}"


def load(key: str) -> memoryview | None:
    """Return the database image that was saved as `key`, None where there is none.

    It is the file itself, and not a copy: it has megabytes.
    """
    try:
        with (_folder() / f"{key}{_SUFFIX}").open("rb") as file:
            saved = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    image, checksum = saved[:-_SUM_BYTES], bytes(saved[-_SUM_BYTES:])
    return image if image and checksum == _checksum(image) else None


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


def _checksum(image: bytes | memoryview) -> bytes:
    return zlib.crc32(image).to_bytes(_SUM_BYTES, "big")


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)
