"""Processes by name, so that one can tell whether another is still there."""

from __future__ import annotations

import os
import socket


def this_process() -> str:
    """Return a name for this process that others on the same machine can look up."""
    return f"{_machine()}:{os.getpid()}"


def process_text(owner: str) -> str:
    """Return `owner` as a person would look for it."""
    machine, _, number = owner.rpartition(":")
    return f"process {number} on {machine.partition('pid:[')[0]}"


def _machine() -> str:
    # processes in containers may share a host's name and count from 1 each
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()}{space}"


def is_gone(owner: str) -> bool:
    """Say whether `owner` is a process of this machine that has certainly ended."""
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
