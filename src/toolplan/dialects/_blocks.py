"""The blocks of text that may be a plan, among prose, code fences and `<think>` blocks.

A block is a pair of matching brackets that stands in no other such pair. It is found in one pass
over the text, whatever the text is.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.plan.text.loose import Span
from toolplan.plan.text.tokens import LINE_TOKEN, TOKEN

MOST_OPEN: Final = 1_000
"""So many brackets may be open together; prose has no more, and plans have far fewer."""

MOST_MARKS: Final = 500_000
"""Brackets, commas and colons of a segment; a plan as long as a text may be has half as many."""

_MOST_SEGMENTS: Final = 1_000
"""The most fences that are read; the text after them is one segment."""

_CUT = re.compile(
    r"(?P<think>^[ \t]*<think(?:ing)?>)|(?P<end>^[^\n{\[]*?</think(?:ing)?>)"
    r"|(?P<fence>^[ \t]*(?:```|~~~).*$)",
    re.MULTILINE,
)
_CLOSE_THINK = re.compile(r"</think(?:ing)?>")
# a bracket that opens JSON: in prose, other things follow
_OPENING = re.compile(
    r"""\{\s*+(?:["']|[A-Za-z_]\w*+\s*+:|//|/\*|\#|\Z)|\[\s*+(?:[{"'\[]|//|/\*|\#|\Z)"""
)


class Segment(Struct, frozen=True):
    """A part of the text that is read by itself: outside of `<think>`, inside of a fence or not."""

    span: Span
    is_fenced: bool


class Segments(Struct, frozen=True):
    """The parts of a text, and what lies between them: `a code fence`, `a <think> block`."""

    segments: tuple[Segment, ...]
    noise: tuple[str, ...]


class Blocks(Struct, frozen=True):
    """The blocks of a segment.

    `cut_off` is where a value begins that the text does not end, None where there is none.
    `too_deep` says that too many brackets were open, `is_spoilt` that a string did
    not end, so that another reading of the quotes may find more.
    """

    spans: tuple[Span, ...]
    cut_off: int | None = None
    too_deep: bool = False
    is_spoilt: bool = False


def segments(text: str) -> Segments:
    """Divide `text` at its code fences, without its `<think>` blocks."""
    noise: dict[str, None] = {}
    parts: list[Segment] = []
    start = at = 0
    fenced = False
    last_close = max(text.rfind("</think>"), text.rfind("</thinking>"))
    while len(parts) < _MOST_SEGMENTS and (cut := _CUT.search(text, at)):
        end, at = cut.start(), cut.end()
        if cut["fence"] is not None:
            noise["a code fence"] = None
            parts.append(Segment(Span(start, end), fenced))
            fenced = not fenced
        elif cut["think"] is not None:
            close = _CLOSE_THINK.search(text, at) if at <= last_close else None
            if close is None:
                continue  # a tag that nothing closes is prose
            at = close.end()
            noise["a <think> block"] = None
            parts.append(Segment(Span(start, end), fenced))
        else:  # the tag that opened it was cut from the text; all before is thinking
            noise["a <think> block"] = None
            parts.clear()
            fenced = False
        start = at
    parts.append(Segment(Span(start, len(text)), fenced))
    return Segments(tuple(parts), tuple(noise))


def blocks(text: str, span: Span, *, by_line: bool) -> Blocks:
    """Return the blocks of `text` within `span`, in order.

    With `by_line`, strings end with their line at the latest, so that a stray quote in the prose
    does not swallow the plan.
    """
    tokens = LINE_TOKEN if by_line else TOKEN
    found: list[Span] = []
    at, marks, is_spoilt = span.start, 0, False
    while opening := _OPENING.search(text, at, span.end):
        at, depth = opening.start(), 0
        for token in tokens.finditer(text, at, span.end):
            if token.lastgroup in ("double", "single") and not (token["dq"] or token["sq"]):
                is_spoilt = True
            elif token.lastgroup == "mark":
                marks += 1
                depth += (token[0] in "[{") - (token[0] in "]}")
                if depth > MOST_OPEN or marks > MOST_MARKS:
                    return Blocks((), too_deep=depth > MOST_OPEN)
                if depth == 0:
                    found.append(Span(at, token.end()))
                    at = token.end()
                    break
        else:
            return Blocks(tuple(found), at, is_spoilt=is_spoilt)
    return Blocks(tuple(found), is_spoilt=is_spoilt)


def prose(text: str, parts: Segments, block: Span) -> bool:
    """Return whether anything but white space stands beside `block`, where nothing is cut away."""
    for part in parts.segments:
        said = text[part.span.start : part.span.end]
        if part.span.start <= block.start < part.span.end:
            said = text[part.span.start : block.start] + text[block.end : part.span.end]
        if said.strip():
            return True
    return False
