"""The blocks of text that may be a plan, among prose, code fences and `<think>` blocks.

A block is a pair of matching brackets that stands in no other such pair. It is found in one pass
over the text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from toolplan.source import LINE_TOKEN, TOKEN, Span

MOST_OPEN: Final = 1_000
"""So many brackets may be open together; prose has no more, and plans have far fewer."""

MOST_MARKS: Final = 500_000
"""Brackets, commas and colons of a segment; a plan as long as a text may be has half as many."""

MOST_ASIDES: Final = 10_000
"""A text with more bracketed asides than this is not looked through to its end, and refused."""

_MOST_SEGMENTS: Final = 1_000
"""The most fences that are read; the text after them is one segment."""

_CUT = re.compile(
    r"(?P<think>^[ \t]*<think(?:ing)?>)|(?P<end>^[^\n{\[]*?</think(?:ing)?>)"
    r"|(?P<fence>^[ \t]*(?:```|~~~).*$)",
    re.MULTILINE,
)
_CLOSE_THINK = re.compile(r"</think(?:ing)?>")
# up to the next bracket that may be more than an aside such as [1] or {name}
_PROSE = re.compile(
    r"""[^\[{]*+(?:(?:\{[^\[\]{}"'/#]*+\}|\[[^\[\]{}"'/#]*+\])[^\[{]*+)*+""",
)
# what follows a bracket that opens JSON: in prose, other things do
_JSON_OBJECT = re.compile(r"""\{\s*+(?:["']|[A-Za-z_]\w*+\s*+:|//|/\*|\#|\Z)""")
_JSON_LIST = re.compile(r"""\[\s*+(?:[{"'\[]|//|/\*|\#|\Z)""")


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


class _Open(Struct):
    """An open bracket, and the blocks that have ended inside of it."""

    mark: str
    start: int
    inside: list[Span] = field(default_factory=list[Span])
    is_sound: bool = True


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
    stack = _Stack(text, span)
    at = span.start
    for _ in range(MOST_ASIDES):
        aside = _PROSE.match(text, at, span.end)
        at = span.end if aside is None else aside.end()
        if at == span.end:
            break
        for token in tokens.finditer(text, at, span.end):
            at = token.end()
            if token.lastgroup == "mark":
                stack.take(token[0], token.start())
                if len(stack.open) > MOST_OPEN:
                    return Blocks((), too_deep=True)
                if stack.marks > MOST_MARKS:
                    return Blocks(())
                if len(stack.open) == 1:
                    break  # back in prose, where quotes mean nothing
            elif token.lastgroup in ("double", "single") and not (token["dq"] or token["sq"]):
                stack.is_spoilt = True
        else:
            break
    else:
        return Blocks(())
    return stack.left()


class _Stack:
    """The open brackets, the outermost (the segment itself, not a bracket) first."""

    def __init__(self, text: str, span: Span) -> None:
        self.text = text
        self.end = span.end
        self.open = [_Open("", span.start)]
        self.count = {"{": 0, "[": 0}
        self.marks = 0
        self.is_spoilt = False

    def take(self, mark: str, at: int) -> None:
        """Read the next mark of the segment."""
        self.marks += 1
        if mark in "[{":
            self.open.append(_Open(mark, at))
            self.count[mark] += 1
        elif mark in "]}":
            self._close("[" if mark == "]" else "{", at)

    def left(self) -> Blocks:
        """Return what was found, at the end of the segment."""
        found: list[Span] = []
        for each in self.open:
            if each.mark and self._opens_json(each):
                return Blocks(tuple(found), each.start, is_spoilt=self.is_spoilt)
            found += each.inside
        return Blocks(tuple(found), is_spoilt=self.is_spoilt)

    def _close(self, mark: str, at: int) -> None:
        if not self.count[mark]:
            self.open[-1].is_sound = False
            return
        while self.open[-1].mark != mark:
            self._end(at)
            self.open[-1].is_sound = False
        self._end(at + 1)

    def _end(self, end: int) -> None:
        done = self.open.pop()
        self.count[done.mark] -= 1
        around = self.open[-1].inside
        if done.is_sound and self.text[end - 1] in "]}" and self._opens_json(done):
            around.append(Span(done.start, end))
        else:
            around += done.inside

    def _opens_json(self, each: _Open) -> bool:
        pattern = _JSON_OBJECT if each.mark == "{" else _JSON_LIST
        return pattern.match(self.text, each.start, self.end) is not None


def prose(text: str, parts: Segments, block: Span) -> bool:
    """Return whether anything but white space stands beside `block`, where nothing is cut away."""
    return any(text[span.start : span.end].strip() for span in _beside(parts, block))


def _beside(parts: Segments, block: Span) -> Iterator[Span]:
    for part in parts.segments:
        if part.span.start <= block.start < part.span.end:
            yield Span(part.span.start, block.start)
            yield Span(block.end, part.span.end)
        else:
            yield part.span
