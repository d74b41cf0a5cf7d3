"""What a cached plan is found by: the question as it is compared, and all that it was made with."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from toolplan.path import Json
from toolplan.tools import Toolbox

VERSION: Final = 1
"""Of keys and forms; a new one finds nothing of what the old one kept."""

_RAISED: Final = re.compile(r"[²³¹⁰-₟¼-¾⅐-⅟]+")
_MARKS: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
_QUOTED: Final = re.compile(r'("[^"]*"|(?<!\w)\'[^\']+\'(?!\w))')
_ENDING: Final = " .?!…"
_LONGEST_ABBREVIATION: Final = 3


def normalised(question: str) -> str:
    """Return `question` as questions are compared: without case, spare blanks and closing marks.

    Unicode is in form NFKC, but for raised digits and fractions, which mean something else than
    plain ones. Text in quotation marks, words with digits and short words in capitals keep their
    case, for it may tell one identity from another, or a country from a pronoun.

    >>> normalised("  Show Me the  order S1?")
    'show me the order S1'
    """
    text = _composed(question).translate(_MARKS).strip(_ENDING)
    shouting = text.upper() == text
    parts: list[str] = []
    for at, part in enumerate(_QUOTED.split(text)):
        if at % 2:
            parts.append(part)
        else:
            parts.extend(re.sub(r"\S+", lambda word: _cased(word[0], shouting), part))
    return " ".join("".join(parts).split())


def _composed(text: str) -> str:
    whole: list[str] = []
    behind = 0
    for raised in _RAISED.finditer(text):
        whole += [unicodedata.normalize("NFKC", text[behind : raised.start()]), raised[0]]
        behind = raised.end()
    whole.append(unicodedata.normalize("NFKC", text[behind:]))
    return "".join(whole)


def _cased(word: str, shouting: bool) -> str:
    if any(char.isdigit() for char in word):
        return word
    letters = "".join(char for char in word if char.isalpha())
    short = 1 < len(letters) <= _LONGEST_ABBREVIATION and letters.isupper()
    return word if short and not shouting else word.casefold()


def tools_digest(tools: Toolbox) -> str:
    """Return the digest of all tool objects of `tools`, whatever their order.

    The order of arguments inside of a tool counts: dialects with positional arguments read it.
    """
    each = sorted(_digest(tool.to_json()) for tool in tools.values())
    return _digest([*each])


def scope(parts: Iterable[Json]) -> str:
    """Return the digest of all that a plan was made with, apart from the question and its day."""
    return _digest([VERSION, *parts])


def key(scope_: str, today: str, question: str) -> str:
    """Return what finds the plan for `question`, asked on `today`, in `scope_`."""
    return _digest([scope_, today, normalised(question)])


def shape(skeleton: Iterable[str]) -> str:
    """Return the digest of a form's skeleton."""
    return _digest([VERSION, *skeleton])


def context_digest(said: Json) -> str:
    """Return the digest of what was said before, without what differs each time it is looked up.

    Nothing said, in whatever form, is one thing. The moment of an episode and the score of a
    memory say nothing about what the question means, and the draft that a lower planner of a
    ladder left (`draft`) is nothing that was said: it follows from question and tools.

    >>> context_digest(None) == context_digest({"episodic": [], "entities": []})
    True
    """
    if isinstance(said, dict):
        said = {name: part for name, part in said.items() if name != "draft"}
    return _digest(_lasting(said))


def _lasting(value: Json) -> Json:
    match value:
        case dict():
            kept = {
                name: _lasting(inner)
                for name, inner in sorted(value.items())
                if name not in ("timestamp", "score")
            }
            return {name: inner for name, inner in kept.items() if inner not in (None, [], {})}
        case list():
            return [_lasting(inner) for inner in value]
        case None:
            return {}
        case _:
            return value


def _digest(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
