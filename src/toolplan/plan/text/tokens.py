"""The tokens of JSON and its variants, and the elements of a list that is read by pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

DEEPEST: Final = 200
"""Maximum nesting of lists and objects: values are taken apart by recursion."""

# Possessive, and complete even where the closing quote is missing, so that no text makes the scan
# go over a character twice. `dq` and `sq` take part only where a string ends well.
_REST = (
    r"|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?P<closed>\*/)?+)"
    r"|(?P<mark>[\[\]{},:])"
    r"""|(?P<word>[^\s"'\[\]{},:/#][^\s"\[\]{},:/#]*+|/)"""
)
TOKEN: Final = re.compile(
    r'(?P<double>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(?P<dq>")|\\?+))'
    r"|(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+(?:(?P<sq>')|\\?+))" + _REST,
    re.DOTALL,
)
"""One token; white space lies between them."""
LINE_TOKEN: Final = re.compile(
    r'(?P<double>"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+(?:(?P<dq>")|\\?+))'
    r"|(?P<single>'[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+(?:(?P<sq>')|\\?+))" + _REST,
)
"""The same, but no string goes over the end of a line: a stray quote spoils one line at most."""

_CLOSERS: Final = {"{": "}", "[": "]"}
_MARKS: Final = frozenset("[]{},")
_COMMENTS: Final = frozenset(("#", "//", "/*"))
_OUTSIDE = re.compile(r"""[\[\]{},]|["'#]|//|/\*|/(?!\Z)|[^\[\]{},"'#/]++""")
_INSIDE: Final = {
    '"': re.compile(r'(?:[^"\\]|\\.)*+(?P<end>")?+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.)*+(?P<end>')?+", re.DOTALL),
    "#": re.compile(r"[^\n]*+(?P<end>\n)?+"),
    "//": re.compile(r"[^\n]*+(?P<end>\n)?+"),
    "/*": re.compile(r"(?:[^*]|\*(?!/|\Z))*+(?P<end>\*/)?+"),
}
"""Patterns of the inside and the end of strings and comments, by their beginning."""

# a mark that may stand before the JSON: its fence or its tag
_FENCE = re.compile(r"(?:```|~~~)\w*[ \t]*\n|<plan>")
_THINK: Final = "<think>"
_THINK_END: Final = "</think>"
_LONGEST_MARK: Final = 40
"""Maximum length of a fence or a tag, in characters."""


class Elements:
    """Finds the elements of a list in a JSON text that is still being written.

    The list is that under `key` of an object; without `key` it is all of the JSON. This may stand
    behind a code fence, a tag and `<think>` blocks. Anything else before it, a bracket that closes
    none, and the end of the list end the search: `is_over`. Each character is looked at once.
    """

    def __init__(self, key: str | None = None) -> None:
        self.is_over = False
        self._key = None if key is None else re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*:\s*""")
        self._depth = 1 if key is None else 2  # brackets around an element
        self._head: str | None = ""  # the unread text before the JSON; None behind it
        self._in_thoughts = False
        self._rest: str = ""  # a character whose meaning the next one decides
        self._began: str | None = None  # the beginning of the string or comment being read
        self._open: list[str] = []  # the closing brackets of the values being read
        self._is_inside = False
        self._parts: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Return the text of each element that `text`, the next piece, completes."""
        elements: list[str] = []
        if self._head is not None:
            text = self._behind_head(self._head + text)
        for is_mark, piece in () if self.is_over else self._pieces(text):
            if not is_mark:
                self._parts.append(piece)
            elif self._takes(piece):
                element = "".join(self._parts).strip()
                elements += [element] if element else []
                self._parts.clear()
            if self.is_over:
                break
        return elements

    def _pieces(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield the brackets and commas of `text`, and the text between them; no comments."""
        text = self._rest + text
        self._rest = ""
        at = 0
        while at < len(text):
            began = self._began
            found = (_OUTSIDE if began is None else _INSIDE[began]).match(text, at)
            if found is None:  # a slash, which may begin a comment
                self._rest = text[at:]
                return
            is_comment = (began or found[0]) in _COMMENTS
            yield began is None and found[0] in _MARKS, " " if is_comment else found[0]
            at = found.end()
            if began is None:
                self._began = found[0] if found[0] in _INSIDE else None
            elif found["end"]:
                self._began = None
            else:  # half of an escape, or of the end of a comment
                self._rest = text[at:]
                return

    def _takes(self, mark: str) -> bool:
        """Take a bracket or a comma; return whether an element ends with it or before it."""
        if mark in _CLOSERS:
            if len(self._open) == self._depth - 1:
                is_wanted = self._key is None or self._key.fullmatch("".join(self._parts))
                self._is_inside = mark == "[" and bool(is_wanted)
                self._parts.clear()
            elif self._is_inside:
                self._parts.append(mark)
            self._open.append(_CLOSERS[mark])
            self.is_over = len(self._open) > DEEPEST
            return False
        if mark != "," and (not self._open or self._open.pop() != mark):
            self.is_over = True
            return False
        depth = len(self._open)
        self.is_over = not depth or (self._is_inside and depth < self._depth)
        ends = self._is_inside and depth <= self._depth
        if not self._is_inside:
            self._parts.clear()
        elif depth > self._depth or (ends and mark != "," and not self.is_over):
            self._parts.append(mark)
        return ends

    def _behind_head(self, text: str) -> str:
        """Return `text` from where the JSON begins, "" where it has not begun."""
        while True:
            if self._in_thoughts:
                _, end, behind = text.partition(_THINK_END)
                if not end:  # the end itself may come in two pieces
                    self._head = text[1 - len(_THINK_END) :]
                    return ""
                self._in_thoughts, text = False, behind
            text = text.lstrip()
            if text.startswith(_THINK):
                self._in_thoughts, text = True, text.removeprefix(_THINK)
            elif mark := _FENCE.match(text):
                text = text[mark.end() :]
            else:
                break
        if not text or (text[0] in "`~<" and len(text) < _LONGEST_MARK):
            self._head = text
            return ""
        self._head = None
        self.is_over = text[0] != ("[" if self._key is None else "{")
        return text
