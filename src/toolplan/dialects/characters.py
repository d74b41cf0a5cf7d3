"""Checks of a text before a dialect that is not JSON reads it: its size and its characters."""

from __future__ import annotations

from collections.abc import Iterable

from toolplan.plan.canonical import Report
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Limits, join_pointer
from toolplan.plan.text.loose import Flaw, not_text, replaced
from toolplan.plan.text.places import line_and_column


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

    None where it has more bytes than `limits` allow. Faults are reported.
    """
    if not fits(text, limits, report):
        return None
    text = without_mark(text, report)
    clean = replaced(text)
    if clean != text:
        differs = next(at for at, char in enumerate(text) if char != clean[at])
        report_character(text, differs, report)
    return clean


def report_character(text: str, offset: int, report: Report) -> None:
    """Report the character at `offset`, which is none."""
    line, column = line_and_column(text, offset)
    message = f"The text holds {not_text(text[offset])} (line {line}, column {column})."
    report.error("bad-encoding", message, help="Save it as UTF-8.")


def report_flaws(flaws: Iterable[Flaw], report: Report, step: str | None = None) -> None:
    """Report flaws of values, in `step` where they are in one."""
    for code, message, way, help in flaws:
        if not report.is_full():
            report.error(code, message, join_pointer(way), step, help)


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
    line, column = line_and_column(text, offset)
    place = f"(line {line}, column {column})"
    return Diagnostic(code, Severity.ERROR, f"{message} {place}.", step, pointer, help)
