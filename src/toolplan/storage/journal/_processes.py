"""Names of processes, by which another process can check whether they still run."""

from __future__ import annotations

import os
import socket


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
    machine, _, number = owner.rpartition(":")
    if machine != _machine() or os.name == "nt":
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False
