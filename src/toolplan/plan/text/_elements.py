"""The elements of a list in a JSON text that is still being written."""

from __future__ import annotations

import re
from typing import Final

from toolplan.plan.text._places import DEEPEST, Structure
from toolplan.plan.text._tokens import TokenReader

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
        self._structure = Structure()
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
        frames = self._structure.frames
        if kind == "mark" and text in "]}" and frames[-1].is_object != (text == "}"):
            self.is_over = True
            return False
        is_inside = self._is_inside()
        found = self._structure.take(kind, text)
        if not frames or len(frames) > DEEPEST or (is_inside and len(frames) < self._depth):
            self.is_over = True
        elif is_inside and not (len(frames) == self._depth and text == ","):
            self._parts.append(text)
            return found is not None and found.depth == self._depth and not found.is_key
        else:
            self._parts.clear()
        return False

    def _is_inside(self) -> bool:
        frames = self._structure.frames
        if len(frames) < self._depth or frames[self._depth - 1].is_object:
            return False
        return self._key is None or frames[0].label == self._key

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
