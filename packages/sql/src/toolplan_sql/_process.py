"""Processes that DuckDB runs in, each with a bound on its memory that the system holds.

What a statement builds while it is bound or run, DuckDB counts only in part. So it runs in a
process of its own (`_child.py`): one that takes too much or too long is killed, and this program
lives. A process that did no harm is used again, because starting one takes longer than most
statements do.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolplan.plan.path import Json
from toolplan_sql._faults import Exhausted, SqlFault, read_fault

_SCRIPT: Final = Path(__file__).with_name("_child.py")
_MOST_IDLE: Final = 4
_NO_MEMORY: Final = re.compile("Out of Memory|Allocation failure|ailed to allocate|bad_alloc")
_INHERITED: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR")
"""Variables that loading the library may need; others, such as keys, are not passed on."""


class Process:
    """A process that one thread at a time may use; any thread may `kill` it."""

    def __init__(self, memory_mb: int) -> None:
        """Start it; it may use about `memory_mb` megabytes."""
        self.memory_mb = memory_mb
        self.owner = os.getpid()
        if not sys.executable:
            raise SqlFault("SQL runs in a process of its own, and there is no Python to start.")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a script of ours, no text of others
                [sys.executable, "-I", "-S", str(_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                start_new_session=True,  # Ctrl-C at the terminal is for this program alone
            )
        except OSError as error:
            raise SqlFault(
                f"SQL runs in a process of its own, which cannot start: {error}."
            ) from error
        self.pid = self._process.pid
        PROCESSES.add(self)
        try:
            self._send(json.dumps([os.path.abspath(each) for each in sys.path]))
        except BaseException:
            self.kill()
            raise

    @property
    def is_ours(self) -> bool:
        """Whether this program started it, and not the one that this was forked from."""
        return self.owner == os.getpid()

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ask(self, operation: str, *arguments: object) -> Json:
        """Return what `operation` gives. After any exception but a fault, the process is dead.

        Raises:
            SqlFault: the database reports an error.
            Exhausted: the process ended, because it used too much memory or was killed.
        """
        try:
            self._send(json.dumps([operation, *arguments]))
            reply = json.loads(self._receive())
        except BaseException:
            self.kill()
            raise
        match reply:
            case ["ok", value]:
                return value
            case ["result", str(text)]:
                raise SqlFault(text)
            case ["error", str(text)] if not _NO_MEMORY.search(text):
                raise read_fault(text)
            case _:
                self.kill()  # what it holds now is not known
                raise Exhausted(self.memory_mb)

    def kill(self) -> None:
        """End the process; killing it twice does no harm."""
        PROCESSES.discard(self)
        if not self.is_ours:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was not sent cannot be
                if pipe is not None:
                    pipe.close()

    def _send(self, text: str) -> None:
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(text.encode() + b"\n")
                pipe.flush()
        except (OSError, ValueError) as error:
            raise Exhausted(self.memory_mb) from error

    def _receive(self) -> bytes:
        pipe = self._process.stdout
        try:
            line = b"" if pipe is None else pipe.readline()
        except (OSError, ValueError) as error:
            raise Exhausted(self.memory_mb) from error
        if not line.endswith(b"\n"):
            raise Exhausted(self.memory_mb)
        return line


PROCESSES: Final = set[Process]()
"""All that were not ended."""

IDLE: Final = deque[Process]()
"""Idle processes."""

_LOCK: Final = threading.Lock()


def take(memory_mb: int) -> Process:
    """Return an idle process with `memory_mb` megabytes of memory."""
    with _LOCK:
        for each in tuple(IDLE):
            if not each.is_ours:  # this program was forked
                IDLE.remove(each)
            elif each.memory_mb == memory_mb:
                IDLE.remove(each)
                if each.is_alive:
                    return each
                each.kill()
    return Process(memory_mb)


def release(process: Process) -> None:
    """Keep `process` for the next statement."""
    with _LOCK:
        IDLE.append(process)
        surplus = IDLE.popleft() if len(IDLE) > _MOST_IDLE else None
    if surplus is not None:
        surplus.kill()


@atexit.register
def _end_all() -> None:
    for process in tuple(PROCESSES):
        process.kill()
