"""Checks of a text before a dialect that is not JSON reads it: its size and its characters."""

from __future__ import annotations

import re
from typing import Final

from toolplan.plan import text as source
from toolplan.plan.canonical import Report
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Limits

REPLACEMENT: Final = "\ufffd"
"""Stands where no character can: the text around it keeps its place."""

_NO_CHARACTER = re.compile("[\x00\ud800-\udfff]")


def fits(text: str, limits: Limits, report: Report) -> bool:
    """Return whether `text` has no more bytes than `limits` allow; report it otherwise."""
    size = len(text)
    if not text.isascii() and size <= limits.text_bytes:
        size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.text_bytes:
        report.error("too-large", f"The text is larger than {limits.text_bytes} bytes.")
    return size <= limits.text_bytes


def without_mark(text: str, report: Report) -> str:
    """Return `text` in its old length, without a byte order mark, which is reported."""
    if not text.startswith("\ufeff"):
        return text
    report.error(
        "bad-encoding",
        "The text begins with a byte order mark.",
        help="Save it as UTF-8 without one.",
    )
    return " " + text[1:]


def checked(text: str, limits: Limits, report: Report) -> str | None:
    """Return `text` in its old length, with a replacement for everything that is not a character.

    None where it has more bytes than `limits` allow. What is wrong is reported.
    """
    if not fits(text, limits, report):
        return None
    text = without_mark(text, report)
    found = _NO_CHARACTER.search(text)
    if found is None:
        return text
    report_character(text, found.start(), report)
    return replaced(text)


def report_character(text: str, offset: int, report: Report) -> None:
    """Report the character at `offset`, which is none."""
    line, column = source.line_and_column(text, offset)
    said = f"The text holds {_called(text[offset])} (line {line}, column {column})."
    report.error("bad-encoding", said, help="Save it as UTF-8.")


def not_text(text: str) -> str | None:
    """Name what in `text` is not a character, such as a lone surrogate; None if nothing is."""
    found = _NO_CHARACTER.search(text)
    return None if found is None else _called(found[0])


def replaced(text: str) -> str:
    """Return `text` with a replacement for everything that is not a character."""
    return _NO_CHARACTER.sub(REPLACEMENT, text)


def syntax(
    text: str,
    offset: int,
    message: str,
    pointer: str = "",
    step: str | None = None,
    help: str | None = None,
    code: str = "syntax",
) -> Diagnostic:
    """Return a diagnostic: `text` is not a plan at `offset`; `message` has no full stop yet."""
    line, column = source.line_and_column(text, offset)
    place = f"(line {line}, column {column})"
    return Diagnostic(code, Severity.ERROR, f"{message} {place}.", step, pointer, help)


def _called(char: str) -> str:
    return "a NUL character" if char == "\0" else "half a character (a lone surrogate)"
