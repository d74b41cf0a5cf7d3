"""Texts of a dialect whose references have a syntax of their own.

What a dialect cannot say is found by writing a value and reading it back: whatever the syntax is,
nothing is lost silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from toolplan.plan.canonical import MOST_PROBLEMS, ParsedText, Syntax, TextProblem, Written
from toolplan.plan.model import Literal, Ref, Template, template
from toolplan.plan.path import Json

Resolved: TypeAlias = tuple[str | Ref, ...] | TextProblem | None
"""What a match in a text is: parts of the text, a mistake, or None where it is text after all."""


def read_parts(
    text: str, pattern: re.Pattern[str], resolve: Callable[[re.Match[str]], Resolved]
) -> ParsedText:
    """Parse `text`: each match of `pattern` becomes the result of `resolve`.

    `resolve` looks at what the match holds, and not at where it stands.
    """
    parts: list[str | Ref] = []
    problems: list[TextProblem] = []
    known: dict[str, Resolved] = {}  # a text may be one reference over and over
    at = start = 0
    while len(problems) < MOST_PROBLEMS and (found := pattern.search(text, start)):
        written = found[0]
        resolved = known[written] if written in known else resolve(found)
        known[written] = resolved
        if resolved is None:
            start = found.start() + 1  # what looked like its end may open another
            continue
        start = found.end()
        if isinstance(resolved, TextProblem):
            problems.append(resolved)
            continue
        if at < found.start():
            parts.append(text[at : found.start()])
        parts += resolved
        at = start
    if problems or not parts:
        return ParsedText(Literal(text), tuple(problems))
    return ParsedText(template((*parts, text[at:])))


def write_parts(value: Written, write_ref: Callable[[Ref], str]) -> str:
    """Return `value` as text, its text as it is: nothing is escaped.

    Raises:
        TypeError: the Literal is not a string.
    """
    match value:
        case Literal(str(text)):
            return text
        case Literal():
            raise TypeError("only text is written as text")
        case Ref():
            return write_ref(value)
        case Template(parts):
            return "".join(part if isinstance(part, str) else write_ref(part) for part in parts)


def read_plain(text: str) -> ParsedText:
    """Return the text itself: this syntax has no references."""
    return ParsedText(Literal(text))


def write_none(value: Written) -> Json:
    """Refuse to write: this syntax only reads.

    Raises:
        TypeError: always.
    """
    raise TypeError("this syntax only reads")


__all__ = [
    "Resolved",
    "Syntax",
    "Written",
    "read_parts",
    "read_plain",
    "write_none",
    "write_parts",
]
