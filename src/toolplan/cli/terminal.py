"""Output of commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Final, TextIO

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.show import printable as printables
from toolplan.show._lines import View
from toolplan.show.console import Output

if sys.platform == "win32":
    import msvcrt
else:
    import termios


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    STORAGE = 3
    INTERRUPTED = 130
    NO_READER = 141


_FAILED: Final = frozenset(
    (
        "approval-required",
        "approval-used",
        "bad-draft",
        "bad-plan",
        "cannot-express",
        "journal-taken",
        "run-stopped",
        "sign-in-failed",
        "unreadable-plan",
    )
)
_STORAGE: Final = frozenset(("run-exists", "storage", "unwritable-file"))
_USAGE_OF_MODELS: Final = frozenset(("llm-missing", "llm-spec"))


_MAKING_WAY: Final[list[Callable[[], None]]] = []


def make_way() -> None:
    """Clear the progress line, before something is printed."""
    for call in _MAKING_WAY:
        call()


class CommandError(ToolplanError):
    """An error with more to print as JSON: the problems of a plan, or other details."""

    def __init__(
        self,
        code: str,
        message: str,
        help: str | None = None,
        *,
        diagnostics: Sequence[Json] = (),
        details: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(code, message, help)
        self.details = dict(details or {})
        if diagnostics:
            self.details["diagnostics"] = list(diagnostics)


def prepare_streams() -> None:
    """Replace standard streams that are missing, and characters that a terminal cannot show."""
    if getattr(sys, "stdin", None) is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def abandon_output() -> None:
    """Discard further output, so that closing the streams does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out(file: TextIO | None = None) -> Output:
    """Return standard output as it is now: plain text, 100 wide, where it is not a terminal."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and columns.isascii() and int(columns) else None
    return Output.of(file or sys.stdout, width)


def err() -> Output:
    """Return standard error as it is now."""
    return out(sys.stderr)


def show_long(output: Output, view: View) -> None:
    """Show `view` in the pager of the terminal, if it is longer than the terminal."""
    screen = sys.__stdout__  # where a pager writes
    if screen is not None and screen.isatty() and output.is_terminal:
        output.page(view)


def discard_input() -> None:
    """Discard input typed before a question: it is no answer."""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        try:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        except (OSError, ValueError, termios.error):  # it is not a terminal
            return


@contextmanager
def making_way(call: Callable[[], None]) -> Generator[None]:
    """Call `call` before each line that is printed in this block."""
    _MAKING_WAY.append(call)
    try:
        yield
    finally:
        _MAKING_WAY.remove(call)


def print_json(value: Json) -> None:
    """Print `value` on standard output; nothing in it steers a terminal."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False)
    sys.stdout.write(printables.harmless_json(text) + "\n")


def note(text: str, *, wrap: bool = True) -> None:
    """Print something beside the result, on standard error; with or without line breaks."""
    make_way()
    err().print(text, style="dim", soft_wrap=None if wrap else True)


def ask_claim(claim: str) -> bool | None:
    """Ask on the terminal whether a source's claim about its tools counts; None without one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    make_way()
    discard_input()
    for line in claim.splitlines():
        err().print(printables.printable(line))
    err().prompt("Take its word for it? Without it these calls need an approval. [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def report(error: ToolplanError, *, as_json: bool) -> int:
    """Print `error` on standard error, and return its exit code."""
    if as_json:
        document: dict[str, Json] = {
            "code": error.code,
            "message": str(error),
            "help": error.help or None,
        }
        if isinstance(error, CommandError):
            document |= error.details
        sys.stderr.write(printables.harmless_json(json.dumps({"error": document})) + "\n")
    else:
        console = err()
        console.print(f"error[{error.code}] {error}", style="bold red")
        if error.help:
            console.print(f"  help: {error.help}")
    code = error.code
    if code in _FAILED or (code.startswith("llm-") and code not in _USAGE_OF_MODELS):
        return Exit.FAILED.value
    is_storage = code in _STORAGE or code.startswith("journal-")
    return (Exit.STORAGE if is_storage else Exit.USAGE).value
