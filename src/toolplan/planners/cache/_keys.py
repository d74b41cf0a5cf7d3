"""The keys of stored plans: the normalised question, and everything that its plan depends on."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

VERSION: Final = 2
"""The version of the keys; a new one finds nothing that was stored under the old one."""

_MARKS: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
_QUOTED: Final = re.compile(r'("[^"]*"|(?<!\w)\'[^\']+\'(?!\w))')
_ENDING: Final = " .?!…"
_LONGEST_ABBREVIATION: Final = 3


def normalised(question: str) -> str:
    """Return `question` without case, spare blanks and closing marks, in Unicode form NFC.

    Quoted text, words with digits and short words in capitals keep their case: `S1` and `s1`, `US`
    and `us` may differ.

    >>> normalised("  Show Me the  order S1?")
    'show me the order S1'
    """
    text = unicodedata.normalize("NFC", question).translate(_MARKS).strip(_ENDING)
    shouting = text.upper() == text
    parts: list[str] = []
    for at, part in enumerate(_QUOTED.split(text)):
        if at % 2:
            parts.append(part)
        else:
            parts.extend(re.sub(r"\S+", lambda word: _cased(word[0], shouting), part))
    return " ".join("".join(parts).split())


def _cased(word: str, shouting: bool) -> str:
    if any(char.isdigit() for char in word):
        return word
    letters = "".join(char for char in word if char.isalpha())
    short = 1 < len(letters) <= _LONGEST_ABBREVIATION and letters.isupper()
    return word if short and not shouting else word.casefold()


def tools_digest(tools: Toolbox) -> str:
    """Return the digest of all tool objects of `tools`, in any order.

    The order of a tool's arguments counts: dialects with positional arguments depend on it.
    """
    each = sorted(_digest(tool.to_json()) for tool in tools.values())
    return _digest([*each])


def question_key(made_with: Iterable[Json], today: str, question: str) -> str:
    """Return the key of the plan for `question`, asked on `today`.

    `made_with` is everything else that the plan depends on: tools, planner, policy, context.
    """
    return _digest([_digest([VERSION, *made_with]), today, normalised(question)])


def context_digest(context: Json) -> str:
    """Return the digest of a question's context, without timestamps and scores.

    All forms of an empty context have one digest. The draft that another planner left (`draft`)
    does not count: it follows from the question and the tools.

    >>> context_digest(None) == context_digest({"episodic": [], "entities": []})
    True
    """
    if isinstance(context, dict):
        context = {name: part for name, part in context.items() if name != "draft"}
    return _digest(_lasting(context))


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
