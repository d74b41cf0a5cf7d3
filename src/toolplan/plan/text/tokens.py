"""The tokens of JSON, and of what is written instead of it: in a whole text, or piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

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
