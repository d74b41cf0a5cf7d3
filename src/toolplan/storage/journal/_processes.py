"""Names of processes, by which another can check whether they still run, and a shared clock."""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from typing import Final

_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def since_boot() -> float:
    """Return the seconds since the machine started, with those in which it or a process slept."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


@cache
def this_boot() -> str:
    """Return a name for `since_boot`, equal in processes that see the same clock; empty if unknown.

    Containers may have a clock of their own.
    """
    if _CLOCK is None:
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/time')}"
    except OSError:
        return ""


def this_process() -> str:
    """Return the name of this process."""
    return f"{_machine()}:{os.getpid()}"


def process_text(owner: str) -> str:
    """Return `owner` in words."""
    machine, _, number = owner.rpartition(":")
    return f"process {number} on {machine.partition('pid:[')[0]}"


def _machine() -> str:
    # containers may share the host name, and each counts its processes from 1
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()}{space}"


def is_gone(owner: str) -> bool:
    """Return whether `owner` is a process of this machine that has certainly ended."""
    return _is_there(owner) is False


def lives(owner: str) -> bool:
    """Return whether `owner` is a process of this machine that has not ended."""
    return _is_there(owner) is True


def _has_ended(number: int) -> bool:
    """Return whether a process has ended and only waits for its parent to take notice."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return False


def _is_there(owner: str) -> bool | None:
    machine, _, number = owner.rpartition(":")
    if machine != _machine() or os.name == "nt":
        return None
    try:
        if _has_ended(int(number)):
            return False
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except (OSError, ValueError):
        return None
    return True
