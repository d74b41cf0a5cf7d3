"""JSON as people and models write it, made strict: what is meant is certain, only the form is not.

Comments, trailing commas, single quotes, bare keys, Python's `True` and line ends inside of
strings are read. Nothing is guessed and no bracket is added: text that does not balance is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from toolplan.source._tokens import TOKEN, double_quoted

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_CLOSERS: Final = {"{": "}", "[": "]"}


class Strict(NamedTuple):
    """Strict JSON, as far as could be seen, and what had to be passed over for it."""

    text: str
    noise: tuple[str, ...]


@dataclass(slots=True)
class _Writer:
    """The tokens written so far, which brackets are open, and what was passed over."""

    parts: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    noise: dict[str, None] = field(default_factory=dict[str, None])
    bare: bool = False  # whether the last part is a bare word

    def mark(self, mark: str) -> bool:
        """Write a bracket, comma or colon; give False where it closes nothing."""
        if mark in _CLOSERS:
            self.open.append(_CLOSERS[mark])
        elif mark in "}]":
            if not self.open or self.open.pop() != mark:
                return False
            if self.parts[-1] == ",":
                self.parts.pop()
                self.noise["trailing commas"] = None
        elif mark == ":" and self.bare:
            self.parts[-1] = json.dumps(self.parts[-1])
            self.noise["bare keys"] = None
        self.parts.append(mark)
        self.bare = False
        return True

    def string(self, token: str) -> None:
        if token.startswith("'"):
            self.noise["single quotes"] = None
        if "\n" in token or "\r" in token or "\t" in token:
            self.noise["line ends inside of text"] = None
        self.parts.append(double_quoted(token))
        self.bare = False

    def word(self, token: str) -> None:
        if token in _WORDS:
            self.noise["Python's spelling of constants"] = None
        self.parts.append(_WORDS.get(token, token))
        self.bare = True


def strict_json(text: str) -> Strict | None:
    """Return `text` as strict JSON, or None where its brackets, strings or comments do not end.

    The result may still be no JSON: a bare word that is no constant stays as it is.
    """
    writer = _Writer()
    for token in TOKEN.finditer(text):
        if not _write(writer, token):
            return None
    if writer.open:
        return None
    return Strict(" ".join(writer.parts), tuple(writer.noise))


def _write(writer: _Writer, token: re.Match[str]) -> bool:
    match token.lastgroup:
        case "mark":
            return writer.mark(token[0])
        case "double":
            writer.string(token[0])
            return token["dq"] is not None
        case "single":
            writer.string(token[0])
            return token["sq"] is not None
        case "comment":
            writer.noise["comments"] = None
            return not token[0].startswith("/*") or token["closed"] is not None
        case _:
            writer.word(token[0])
            return True
