"""The words of a message that point back at what was said before."""

from __future__ import annotations

import re
from typing import Final

from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.planner import MAX_CHARACTERS

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ALWAYS: Final = word_set("them they their theirs its those these same ditto")
_SHOWN: Final = word_set("that this")
_PERIODS: Final = word_set("""
    day morning afternoon evening week weekend month quarter year time january february march april
    may june july august september october november december spring summer autumn winter
    """)
_BEFORE_A_THING: Final = word_set("""
    of about for from to in at with on by into than as like and or but then also show me get list
    find give see check open use is are was were what's only just except not without all more
    """)
_IDLE_IT: Final = re.compile(
    r"\bit(?= (?:true|the case|so) that\b)|(?<=\bis )it(?= (?:true|possible)\b)"
)
_THERE: Final = re.compile(
    r"\b(?:from|to|at|in|of|found|held|stored|made) (?P<there>there)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\b(?P<last>there)\W*$"
)


def read_references(text: str) -> tuple[str, ...]:
    """Return the words of `text` that point back, each once, in the order of the text.

    >>> read_references("Tell me more about them and that order")
    ('them', 'that')
    >>> read_references("Show me orders that were rejected this week")
    ()
    """
    folded = fold(text[:MAX_CHARACTERS])
    words = list(_WORD.finditer(folded))
    idle = {found.start() for found in _IDLE_IT.finditer(folded)}
    found: dict[str, int] = {}
    for at, word in enumerate(words):
        before = words[at - 1][0] if at else ""
        after = words[at + 1][0] if at + 1 < len(words) else ""
        is_reference = (
            word[0] in _ALWAYS
            or (word[0] == "it" and word.start() not in idle)
            or (word[0] in _SHOWN and _shows(word[0], before, after))
        )
        if is_reference:
            found.setdefault(word[0], word.start())
    if (there := _THERE.search(folded)) is not None:
        found.setdefault("there", there.start(there.lastgroup or 0))
    return tuple(sorted(found, key=found.__getitem__))


def _shows(word: str, before: str, after: str) -> bool:
    """Return whether "that" or "this" shows something; else it is relative, or names a period."""
    if after in _PERIODS:
        return False
    return word == "this" or before in _BEFORE_A_THING or not before
