"""The elements of a list in a JSON text that is still being written."""

from __future__ import annotations

import re
from typing import Final

from toolplan.plan.text.loose import DEEPEST
from toolplan.plan.text.tokens import TokenReader, unquoted

_CLOSERS: Final = {"{": "}", "[": "]"}
_THINK: Final = "<think>"
_THINK_END: Final = "</think>"
_LONGEST_MARK: Final = 40
"""A fence or a tag is not longer."""

# what may stand before the JSON: its fence or its tag
_MARK = re.compile(r"(?:```|~~~)\w*[ \t]*\n|<plan>")


class Elements:
    """Finds the elements of the list under `key` of an object; without `key`, of a list.

    The JSON may stand behind a code fence, a tag and `<think>` blocks. Anything else before it, a
    bracket that closes none, and the end of the list end the search: `is_over`.
    """

    def __init__(self, key: str | None = None) -> None:
        self.is_over = False
        self._key = key
        self._depth = 1 if key is None else 2  # brackets around an element
        self._head: str | None = ""  # what is not read of the text before the JSON; None behind it
        self._in_thoughts = False
        self._tokens = TokenReader()
        self._open: list[str] = []  # the closing brackets of what is being read
        self._leaf = ""  # the last token at the depth of the key
        self._label: str | None = None  # the key that is being read there
        self._is_inside = False
        self._parts: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Return the text of each element that `text`, the next piece, completes.

        Comments and white space between tokens are left out.
        """
        elements: list[str] = []
        if self._head is not None:
            text = self._behind_head(self._head + text)
        if self.is_over or not text:
            return elements
        for kind, token in self._tokens.feed(text):
            if kind != "comment" and self._takes(kind, token):
                elements.append(" ".join(self._parts))
                self._parts.clear()
            if self.is_over:
                break
        return elements

    def _takes(self, kind: str, text: str) -> bool:
        """Take one token; return whether an element ends with it."""
        was_inside, closes = self._is_inside, kind == "mark" and text in "]}"
        if closes and self._open.pop() != text:
            self._open.clear()
        elif kind == "mark" and text in _CLOSERS:
            if len(self._open) == self._depth - 1:
                self._is_inside = text == "[" and self._label == self._key
            self._open.append(_CLOSERS[text])
        elif len(self._open) == 1 and self._key is not None:
            if text == ":":
                self._label = self._leaf
            elif kind != "mark":
                self._leaf = unquoted(text) if text[0] in "\"'" else text
        depth = len(self._open)
        if not depth or depth > DEEPEST or (was_inside and depth < self._depth):
            self.is_over = True
        elif was_inside and not (depth == self._depth and text == ","):
            self._parts.append(text)
            return depth == self._depth and (closes or kind != "mark")
        return False

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
            elif mark := _MARK.match(text):
                text = text[mark.end() :]
            else:
                break
        if not text or (text[0] in "`~<" and len(text) < _LONGEST_MARK):
            self._head = text
            return ""
        self._head = None
        self.is_over = text[0] != ("[" if self._key is None else "{")
        return text
