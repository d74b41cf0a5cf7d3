"""References and paths as other plan languages spell them: `.key` with spaces in it, `.0`, `.[0]`.

Values that a dialect cannot express are found by writing and reading them back: in any syntax,
nothing is lost silently. Paths are read into the one kind of path that there is. A key has no dot,
bracket, brace, quote or dollar in it, and neither begins nor ends with a space, so prose after a
full stop is not a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from toolplan.plan.canonical import MOST_PROBLEMS, ParsedText, TextProblem, Written
from toolplan.plan.model import Literal, Ref, Template, template
from toolplan.plan.path import EVERY, Json, Path, Segment, parse_path, print_path

Resolved: TypeAlias = tuple[str | Ref, ...] | TextProblem | None
"""The meaning of a match in a text: parts, a mistake, or None where it is text after all."""


def read_parts(
    text: str, pattern: re.Pattern[str], resolve: Callable[[re.Match[str]], Resolved]
) -> ParsedText:
    """Parse `text`: each match of `pattern` becomes the result of `resolve`.

    `resolve` depends on the text of the match, and not on its place.
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


_BRACKETS = r"""\[(?:\*|[0-9]{1,9}|"(?:[^"\\{}$\n]|\\[^{}$\n])*+"|'[^'\\{}$\n]*+')\]"""
_KEY = r"""(?! )[^.\[\]{}$"'\n]++(?<! )"""

SEGMENTS: Final = rf"(?:\.?{_BRACKETS}|\.{_KEY})*+"
"""A run of segments, as a part of a regular expression; it holds no group."""

SEGMENTS_WITH_GAPS: Final = rf"(?:(?:\.*+{_BRACKETS}|\.++{_KEY})++\.*+)?+"
"""The same with empty segments in it, which mean nothing: `..a..b.` is `.a.b`."""

_QUOTED_OR_DOTS = re.compile(r"""("(?:[^"\\]|\\.)*+"|'[^']*+')|\.++""")
_SEGMENT = re.compile(rf"\.?(?P<brackets>{_BRACKETS})|\.(?P<key>{_KEY})")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_PLAIN_KEY = re.compile(_KEY)


def read_path(text: str) -> Path:
    """Return the path that `text` spells, which is a run of `SEGMENTS`.

    Raises:
        PathSyntaxError: a quoted key or an index is not well written.
    """
    return tuple(_read_segment(found) for found in _SEGMENT.finditer(text)) if text else ()


def without_gaps(text: str) -> str:
    """Return `text` without its empty segments.

    >>> without_gaps(".foo..bar.")
    '.foo.bar'
    """
    short = _QUOTED_OR_DOTS.sub(lambda found: found[1] or ".", text)
    return short.removesuffix(".")


def is_plain(segment: Segment) -> bool:
    """Return whether `segment` is an index, or a key that is written without quotes."""
    if isinstance(segment, int):
        return True
    if segment is EVERY or segment == "*":
        return False
    return _PLAIN_KEY.fullmatch(segment) is not None and _INDEX.fullmatch(segment) is None


def write_bare(path: Path) -> str:
    """Return `path` without the dot that leads it: `items[0]["full name"]`."""
    return print_path(path).removeprefix(".")


def _read_segment(found: re.Match[str]) -> Segment:
    key = found["key"]
    if key is None:
        return parse_path(found["brackets"])[0]
    if key == "*":
        return EVERY
    return int(key) if _INDEX.fullmatch(key) else key
