"""The tokens of JSON, and of what is written instead of it; and elements of a list by pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

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

_MARKS: Final = frozenset("[]{},:")
_START = re.compile(r"\S")
_SINGLE_ESCAPE = re.compile(r"""\\.|["\n\r\t]""", re.DOTALL)


class _Kind(Struct, frozen=True):
    """A kind of token that may be cut: what its inside looks like, and what ends it."""

    name: str
    inside: re.Pattern[str]
    end: str


_WORD: Final = _Kind("word", re.compile(r"""[^\s"\[\]{},:/#]*+"""), "")
_LINE_COMMENT: Final = _Kind("comment", re.compile(r"[^\n]*+"), "\n")
_KINDS: Final = {
    '"': _Kind("double", re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL), '"'),
    "'": _Kind("single", re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL), "'"),
    "#": _LINE_COMMENT,
    "//": _LINE_COMMENT,
    "/*": _Kind("comment", re.compile(r"(?:[^*]|\*(?!/|\Z))*+"), "*/"),
}


class TokenReader:
    """Reads the tokens of a text that comes in pieces. It looks at each character once."""

    def __init__(self) -> None:
        self._kind: _Kind | None = None  # of the token that is being written
        self._parts: list[str] = []
        self._rest: str = ""  # half of an escape, or of a mark of two characters

    def feed(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the kind and the text of each token that `text`, the next piece, completes."""
        text = self._rest + text
        self._rest = ""
        at = 0
        while True:
            if self._kind is None:
                found = _START.search(text, at)
                if found is None:
                    return
                at, char = found.end(), found[0]
                if char in _MARKS:
                    yield "mark", char
                    continue
                if char == "/":
                    if at == len(text):
                        self._rest = char
                        return
                    char = text[at - 1 : at + 1] if text[at] in "/*" else char
                    at += len(char) - 1
                    if len(char) == 1:
                        yield "word", char
                        continue
                self._kind, self._parts = _KINDS.get(char, _WORD), [char]
            inside = self._kind.inside.match(text, at)
            if inside is not None:
                self._parts.append(inside[0])
                at = inside.end()
            end = self._kind.end
            if at == len(text) or not text.startswith(end, at):
                self._rest = text[at:]
                return
            self._parts.append(end)
            at += len(end)
            yield self._kind.name, "".join(self._parts)
            self._kind = None


def unquoted(token: str) -> str:
    """Return what the string `token`, in double or single quotes, says; its escapes read.

    A token that JSON cannot read is returned as it stands, without its quotes.
    """
    if "\\" not in token and len(token) > 1 and token[0] == token[-1] == '"':
        return token[1:-1]  # nearly always
    quoted = token if token.startswith('"') else double_quoted(token)
    try:
        text = json.loads(quoted, strict=False)
    except ValueError:
        return token.strip(token[:1])
    return text if isinstance(text, str) else token


def double_quoted(token: str) -> str:
    """Return a string token as JSON writes it: in double quotes, line ends and tabs escaped."""
    return '"' + _SINGLE_ESCAPE.sub(_escape, token[1:-1]) + '"'


def _escape(found: re.Match[str]) -> str:
    return "'" if found[0] == "\\'" else _ESCAPES.get(found[0], found[0])


_ESCAPES: Final = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


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
