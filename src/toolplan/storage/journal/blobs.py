"""Large records in files beside the journal, named by their SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from toolplan.storage.shared_file import write_whole

_BLOB: Final = re.compile(r"[0-9a-f]{64}(\.[0-9]+\.part)?|\.[0-9a-f]{64}\..+")


def blob_name(text: str) -> str:
    """Return the name of the blob with `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


class BadBlob(ValueError):
    """A blob is missing or was changed."""


class Blobs:
    """A folder of texts by their SHA-256; equal texts are stored once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, text: str) -> str:
        """Write `text`, synced, and return its name.

        Raises:
            OSError: it cannot be written; no partial file has the name.
        """
        name = blob_name(text)
        if not (self.folder / name).exists():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(self.folder / name, text)  # its owner reads it
            _sync_folder(self.folder)
        return name

    def read(self, name: str) -> str:
        """Return the text named `name`.

        Raises:
            BadBlob: it is missing or was changed.
        """
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise BadBlob(f"Blob {name} cannot be read: {error.strerror}.") from None
        if hashlib.sha256(content).hexdigest() != name:
            raise BadBlob(f"Blob {name} was changed.")
        return content.decode()

    def sweep(self, named: Collection[str]) -> None:
        """Delete all blobs but those `named`, and what interrupted writes left.

        Nothing may be committed to the journal meanwhile.

        Raises:
            OSError: one cannot be deleted.
        """
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if _BLOB.fullmatch(path.name) is not None and path.name not in named:
                path.unlink(missing_ok=True)  # another process was just writing it


def _sync_folder(folder: Path) -> None:
    # a new name is on disk only when its folder is synced; Windows cannot open folders
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
