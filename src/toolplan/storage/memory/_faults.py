"""What can go wrong with memory, by name."""

from __future__ import annotations

import sqlite3
from typing import Final

from toolplan.storage.database_file import fault_of


class MemoryFault(Exception):
    """Memory cannot be read or written; `code` names why, `help` is the way out.

    Codes: `memory-locked`, `memory-full`, `memory-read-only`, `memory-unavailable`,
    `memory-damaged`, `memory-newer`.
    """

    def __init__(self, code: str, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.help = help_


_HELP: Final = {
    "memory-locked": "Another program holds the file; end it, or wait.",
    "memory-full": "Make room on the disk.",
    "memory-read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
    "memory-unavailable": "See to the disk and the folder.",
    "memory-damaged": "Delete the file: memory then starts anew, and no run is lost.",
}


def memory_fault(error: sqlite3.Error | OSError, name: str) -> MemoryFault:
    """Return `error`, which came up with the memory in the file `name`, by its name."""
    kind, reason = fault_of(error)
    code = f"memory-{kind}"
    return MemoryFault(code, f"The memory {name} cannot be used: {reason}.", _HELP[code])


def damaged(name: str, reason: str) -> MemoryFault:
    """Return the fault of a file that holds what no memory has written."""
    help_ = _HELP["memory-damaged"]
    return MemoryFault("memory-damaged", f"The memory {name} cannot be used: {reason}.", help_)
