"""The call of a command: how each reports errors and faults of tools, and how the process ends."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from toolplan.app.settings import file_fault
from toolplan.base import event_loop, own_code, threads
from toolplan.base.errors import ToolplanError, sentence
from toolplan.cli import _commands, terminal
from toolplan.cli.terminal import Exit, note
from toolplan.show.printable import printable


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code.

    0: fine. 1: the plan or the run failed, or there is no plan. 2: usage or configuration.
    3: storage. 130: interrupted. 141: the reader of the output has gone.
    """
    words = sys.argv[1:] if arguments is None else [*arguments]
    as_json = "--json" in words
    if debug := "--debug" in (words[: words.index("--")] if "--" in words else words):
        words.remove("--debug")
    terminal.prepare_streams()
    try:
        with faults_reported(debug=debug, as_json=as_json):
            code = _commands.run_words(words)
        sys.stdout.flush()
    except ToolplanError as error:
        code = terminal.report(error, as_json=as_json)
    except SystemExit as ended:  # the reader of the words ends an interrupted command so
        code = ended.code
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        terminal.abandon_output()
        code = Exit.NO_READER
    except OSError as error:
        terminal.abandon_output()
        failed = ToolplanError("storage", f"The system reports: {file_fault(error)}.")
        code = terminal.report(failed, as_json=as_json)
    status = code if isinstance(code, int) else 0
    if arguments is None:
        end_process(status)
    sys.exit(status)


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


LOGGER: Final = logging.getLogger("toolplan.tools")
"""Gets a record with the exception for each call of a tool that raises one."""

_MOST: Final = 20


class ToolFaults(logging.Handler):
    """Keeps the faults of tools until the command is over: its view may be live until then."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._found: dict[tuple[str, str], own_code.OwnFault] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a fault, once for each place."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, ToolplanError) or len(self._found) >= _MOST:
            return
        fault = own_code.own_fault(error)
        if fault is not None:
            name = str(record.args[0]) if isinstance(record.args, tuple) else ""
            self._found.setdefault((name, fault.place), fault)

    def report(self, *, debug: bool) -> None:
        """Print each fault: its traceback with `debug`, else where it is."""
        for (tool, place), fault in self._found.items():
            if debug:
                note(f"In the tool {printable(tool)}:\n{_lines(fault)}", wrap=False)
            else:
                text = f"In the tool {tool}, {place}: {sentence(fault.error)}"
                note(printable(f"{text} --debug shows the traceback."))


@contextmanager
def faults_reported(*, debug: bool, as_json: bool) -> Generator[None]:
    """Print what is wrong in the user's own code, after the command."""
    faults, level = ToolFaults(), LOGGER.level
    LOGGER.addHandler(faults)
    LOGGER.setLevel(logging.DEBUG)
    try:
        yield
    except ToolplanError as error:
        cause: BaseException | None = error
        while isinstance(cause, ToolplanError):
            cause = cause.__cause__
        if debug and cause is not None and (fault := own_code.own_fault(cause)) is not None:
            note(_lines(fault), wrap=False)
        raise
    finally:
        LOGGER.removeHandler(faults)
        LOGGER.setLevel(level)
        if debug or not as_json:
            faults.report(debug=debug)


def _lines(fault: own_code.OwnFault) -> str:
    lines = [(line, line.lstrip(" ")) for line in fault.trace.splitlines()]
    return "\n".join(" " * (len(line) - len(text)) + printable(text) for line, text in lines)
