"""JSON as people and models write it, made strict: what is meant is certain, only the form is not.

Comments, trailing commas, single quotes, bare keys, Python's `True` and line ends inside of
strings are read. Nothing is guessed and no bracket is added: text that does not balance is refused.
"""

from __future__ import annotations

import json
from typing import Final

from msgspec import Struct

from toolplan.source._tokens import TOKEN, double_quoted

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_CLOSERS: Final = {"{": "}", "[": "]"}


class Strict(Struct, frozen=True):
    """Strict JSON, as far as could be seen, and what had to be passed over for it."""

    text: str
    noise: tuple[str, ...]


def strict_json(text: str) -> Strict | None:
    """Return `text` as strict JSON, or None where its brackets, strings or comments do not end.

    The result may still be no JSON: a bare word that is not a constant stays as it is.
    """
    parts: list[str] = []
    closers: list[str] = []  # of the open brackets
    noise: dict[str, None] = {}
    is_bare = False  # whether the last part is a bare word
    for token in TOKEN.finditer(text):
        said, kind = token[0], token.lastgroup
        if kind == "comment":
            noise["comments"] = None
            if said.startswith("/*") and token["closed"] is None:
                return None
            continue
        if kind == "mark":
            if said in _CLOSERS:
                closers.append(_CLOSERS[said])
            elif said in "}]":
                if not closers or closers.pop() != said:
                    return None
                if parts[-1] == ",":
                    parts.pop()
                    noise["trailing commas"] = None
            elif said == ":" and is_bare:
                parts[-1] = json.dumps(parts[-1])
                noise["bare keys"] = None
            parts.append(said)
        elif kind == "word":
            parts.append(_word(said, noise))
        else:
            if (token["dq"] or token["sq"]) is None:
                return None
            parts.append(_string(said, noise))
        is_bare = kind == "word"
    return None if closers else Strict(" ".join(parts), tuple(noise))


def _string(token: str, noise: dict[str, None]) -> str:
    if token.startswith("'"):
        noise["single quotes"] = None
    if "\n" in token or "\r" in token or "\t" in token:
        noise["line ends inside of text"] = None
    return double_quoted(token)


def _word(token: str, noise: dict[str, None]) -> str:
    if token in _WORDS:
        noise["Python's spelling of constants"] = None
    return _WORDS.get(token, token)
