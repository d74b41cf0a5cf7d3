"""Faults in the code of tools, as a command prints them: a line for each, or its traceback."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from toolplan import own_code
from toolplan.cli.terminal import note
from toolplan.errors import ToolplanError, sentence
from toolplan.render.printable import printable

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
        cause = _cause(error)
        fault = None if cause is None or not debug else own_code.own_fault(cause)
        if fault is not None:
            note(_lines(fault), wrap=False)
        raise
    finally:
        LOGGER.removeHandler(faults)
        LOGGER.setLevel(level)
        if debug or not as_json:
            faults.report(debug=debug)


def _cause(error: BaseException) -> BaseException | None:
    """Return what is behind the errors of toolplan."""
    cause: BaseException | None = error
    while isinstance(cause, ToolplanError):
        cause = cause.__cause__
    return cause


def _lines(fault: own_code.OwnFault) -> str:
    lines = [(line, line.lstrip(" ")) for line in fault.trace.splitlines()]
    return "\n".join(" " * (len(line) - len(text)) + printable(text) for line, text in lines)
