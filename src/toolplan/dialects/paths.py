"""Paths as other plan languages spell them: `.key` with spaces in it, `.0`, `.[0]`, `["key"]`.

They are read into the one kind of path that there is. A key has no dot, bracket, brace, quote or
dollar in it, and neither begins nor ends with a space, so prose after a full stop is not a key.
"""

from __future__ import annotations

import re
from typing import Final

from toolplan.plan.path import EVERY, Path, Segment, parse_path, print_path

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
