"""What can go wrong with memory, by name."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final


class MemoryFault(Exception):
    """Memory cannot be read or written; `code` names why, `help` is the way out.

    Codes: `memory-locked`, `memory-full`, `memory-read-only`, `memory-unavailable`,
    `memory-damaged`, `memory-newer`.
    """

    def __init__(self, code: str, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.help = way_out


_HELP: Final = {
    "memory-locked": "Another program holds the file; end it, or wait.",
    "memory-full": "Make room on the disk.",
    "memory-read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
    "memory-unavailable": "See to the disk and the folder.",
    "memory-damaged": "Delete the file: memory then starts anew, and no run is lost.",
}

_SQLITE_CODES: Final = {
    sqlite3.SQLITE_BUSY: "memory-locked",
    sqlite3.SQLITE_LOCKED: "memory-locked",
    sqlite3.SQLITE_FULL: "memory-full",
    sqlite3.SQLITE_READONLY: "memory-read-only",
    sqlite3.SQLITE_PERM: "memory-read-only",
    sqlite3.SQLITE_CORRUPT: "memory-damaged",
    sqlite3.SQLITE_NOTADB: "memory-damaged",
}
_ERRNO_CODES: Final = {
    errno.ENOSPC: "memory-full",
    errno.EDQUOT: "memory-full",
    errno.EROFS: "memory-read-only",
    errno.EACCES: "memory-read-only",
    errno.EPERM: "memory-read-only",
}
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes say more in their higher bytes


def memory_fault(error: sqlite3.Error | OSError, name: str) -> MemoryFault:
    """Give `error`, which came up with the memory in the file `name`, by its name."""
    if isinstance(error, OSError):
        code = _ERRNO_CODES.get(error.errno or 0, "memory-unavailable")
        reason = error.strerror or type(error).__name__
    else:
        number = getattr(error, "sqlite_errorcode", None)
        primary = number & _PRIMARY_CODE if isinstance(number, int) else -1
        code = _SQLITE_CODES.get(primary, "memory-unavailable")
        reason = str(error)
    return MemoryFault(code, f"The memory {name} cannot be used: {reason}.", _HELP[code])


def damaged(name: str, reason: str) -> MemoryFault:
    """Give the fault of a file that holds what no memory has written."""
    help_ = _HELP["memory-damaged"]
    return MemoryFault("memory-damaged", f"The memory {name} cannot be used: {reason}.", help_)
