"""The end of a process: at once where that is safe, whatever the tools still do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolplan.cli import _terminal
from toolplan.extensions import has_foreign_code
from toolplan.lazy import lazy_module

if TYPE_CHECKING:
    from toolplan import event_loop, threads
else:
    event_loop = lazy_module("toolplan.event_loop")
    threads = lazy_module("toolplan.threads")

_PROGRAMS: Final = ("toolplan", "toolplan.__main__")  # the script, and `python -m toolplan`
_MONITORING_TOOLS: Final = 6
_LAST_THREADS_S: Final = 5.0  # for threads that are no daemons, when calls were given up


def end_process(code: int) -> None:
    """End the process with `code` if calls that were given up could keep it from ending.

    Where the process is a command and no code was loaded but toolplan's, end it at once: taking
    apart what is in memory is a twelfth of a short command, and only code of others may have left
    something there to be done, as a file that is not closed.
    """
    if "toolplan.event_loop" in sys.modules and event_loop.was_given_up():
        _end_without_calls(code)
    elif _is_alone() and not has_foreign_code() and not _foreign_threads():
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        _end(code)


def _is_alone() -> bool:
    """Return whether the process is a command and nothing else: no debugger, no profiler."""
    program = sys.modules["__main__"]
    spec = getattr(program, "__spec__", None)
    name = Path(getattr(program, "__file__", None) or "").stem if spec is None else spec.name
    monitoring: Any = getattr(sys, "monitoring", None)  # there is one from Python 3.12 on
    tools = () if monitoring is None else map(monitoring.get_tool, range(_MONITORING_TOOLS))
    watchers = (sys.gettrace(), sys.getprofile(), *tools)
    return name in _PROGRAMS and all(each is None for each in watchers)


def _end_without_calls(code: int) -> None:
    until = time.monotonic() + _LAST_THREADS_S
    for thread in _foreign_threads():
        thread.join(max(0.0, until - time.monotonic()))
    alive = [thread for thread in _foreign_threads() if thread.is_alive()]
    left = sum(threads.hung_calls().values()) + event_loop.left_behind() + len(alive)
    if left:
        _terminal.note(f"Calls that were given up and end with this process: {left}.")
        _end(code)


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _foreign_threads() -> list[threading.Thread]:
    """Return the threads for which the end of the process waits."""
    main = threading.main_thread()
    return [each for each in threading.enumerate() if each is not main and not each.daemon]
