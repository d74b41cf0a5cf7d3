"""Generated rows of the demo, kept for the next process: a file for each day, size and seed.

A file that cannot be read or written, or is not as it was saved, is not an error: the rows are
then generated again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

import platformdirs

from toolplan.storage.shared_file import write_whole

VARIABLE: Final = "TOOLPLAN_CACHE"
"""The environment variable that names the folder; without it, the platform's for caches."""

_SUFFIX: Final = ".demo.sqlite"
_MOST_FILES: Final = 8
_DIGEST_BYTES: Final = 32


def load(key: str) -> bytes | None:
    """Return the database image that was saved as `key`, or None."""
    try:
        content = (_folder() / f"{key}{_SUFFIX}").read_bytes()
    except OSError:
        return None
    image = content[_DIGEST_BYTES:]
    return image if content[:_DIGEST_BYTES] == _digest(image) else None


def save(key: str, image: bytes) -> None:
    """Save a database image as `key`, and remove the oldest ones beyond a few."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}{_SUFFIX}", _digest(image) + image)
        saved = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_ctime)
        for old in saved[:-_MOST_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs time, not an answer


def _digest(image: bytes) -> bytes:
    return hashlib.blake2b(image, digest_size=_DIGEST_BYTES).digest()


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)
