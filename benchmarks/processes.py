"""Processes known by their number and their start, since numbers are used again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process as it was when it was looked at.

    Attributes:
        pid: its number.
        started: the clock ticks from the start of the machine to its own.
        parent: the number of its parent.
    """

    pid: int
    started: int
    parent: int


def process(pid: int) -> Process | None:
    """Return the process that has the number `pid` now; None where there is none, or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else Process(pid, int(fields[19]), int(fields[1]))


def is_alive(known: Process) -> bool:
    """Return whether `known` still runs, and not only another one with its number."""
    found = process(known.pid)
    return found is not None and found.started == known.started


def kill_own(pid: int) -> bool:
    """Kill the process `pid` if this process, or one that it has started, has started it.

    Return whether it was killed. The number is looked at after a handle to its process was opened,
    so that no process that gets the number later is killed in its place.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not _is_own(pid):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _is_own(pid: int) -> bool:
    found = process(pid)
    while found is not None and found.parent != os.getpid():
        found = process(found.parent)
    return found is not None
