"""The end of a process whose tools may still run."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Final

from toolplan import event_loop, threads
from toolplan.cli import terminal

_LAST_THREADS_S: Final = 5.0  # for threads that are no daemons, when calls were given up


def end_process(code: int) -> None:
    """End the process with `code` where calls that were given up could keep it from ending."""
    if not event_loop.was_given_up():
        return
    until = time.monotonic() + _LAST_THREADS_S
    for thread in _foreign_threads():
        thread.join(max(0.0, until - time.monotonic()))
    alive = [thread for thread in _foreign_threads() if thread.is_alive()]
    hung = sum(threads.hung_calls().values()) + event_loop.left_behind() + len(alive)
    if hung:
        terminal.note(f"Calls that were given up and end with this process: {hung}.")
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _foreign_threads() -> list[threading.Thread]:
    """Return the threads for which the end of the process waits."""
    main = threading.main_thread()
    return [each for each in threading.enumerate() if each is not main and not each.daemon]
