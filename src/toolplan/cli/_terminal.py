"""What is printed where: results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from enum import IntEnum

from rich.console import Console

from toolplan.path import Json


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    STORAGE = 3
    INTERRUPTED = 130
    NO_READER = 141


class CommandError(Exception):
    """What keeps a command from doing its work, for the person who called it."""

    def __init__(
        self, code: str, message: str, help_: str | None = None, exit_: Exit = Exit.USAGE
    ) -> None:
        """Hold a kebab-case code, a sentence, the way out, and the exit code."""
        super().__init__(message)
        self.code = code
        self.help = help_
        self.exit = exit_


def prepare_streams() -> None:
    """Let a terminal that is not UTF-8 get a stand-in for what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def abandon_output() -> None:
    """Let nothing be written any more, so that closing the streams does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out() -> Console:
    """Give standard output: plain text where it is not a terminal."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def err() -> Console:
    """Give standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: Json) -> None:
    """Print `value` on standard output."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Tell something beside the result, on standard error."""
    err().print(text, style="dim", soft_wrap=True)


def tell(error: CommandError, *, as_json: bool) -> int:
    """Print `error` on standard error and give its exit code."""
    if as_json:
        document = {"error": {"code": error.code, "message": str(error), "help": error.help}}
        sys.stderr.write(json.dumps(document) + "\n")
    else:
        console = err()
        console.print(f"error[{error.code}] {error}", style="bold red", soft_wrap=True)
        if error.help:
            console.print(f"  help: {error.help}", soft_wrap=True)
    return error.exit.value
