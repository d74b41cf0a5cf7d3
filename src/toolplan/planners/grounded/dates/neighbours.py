"""Words round a time that deny it, blur it or make it a part of something else."""

from __future__ import annotations

import re
from typing import Final

from toolplan.planners.grounded.dates.words import NUMBERS, UNITS, WEEKDAYS, Text, one_of
from toolplan.planners.grounded.language.words import word_set

# words that take a time away, or make it vague, when they stand right before it
_DENYING: Final = word_set("""
    not never nor neither minus ignore ignoring skip skipping omit omitting apart aside instead excl
    except excluding exclude besides without outside unless every each any per early earlier late
    later mid middle around about circa approximately roughly nearly almost fiscal financial
    academic same rest remainder most part half as non post pre few several many
    """)
# words before "of", "in", "before", "after" that make the time only a part, or a neighbour, of it
_MEASURED: Final = (
    frozenset(f"{unit}{plural}" for unit in UNITS for plural in ("", "s"))
    | frozenset(f"{day}s" for day in WEEKDAYS)
    | frozenset(WEEKDAYS)
    | {"weekend", "weekends", "end", "ends", "beginning", "start", "eve", "anniversary"}
)
_MEASURED_CUES: Final = ("of ", "before ", "after ", "prior ", "following ")
_UNIT_AGAIN: Final = re.compile(rf"\s+(?:old|(?:{one_of(UNITS)})s?\s+(?:old|before|after))(?!\w)")

_CHOOSING: Final = frozenset({"last", "past", "previous", "this", "next"})
_NUMBERED: Final = re.compile(r"[qh][1-9]")
_HALF: Final = re.compile(r"(?:a\s+)?half")
_SAME_TIME: Final = re.compile(
    r"\b(?:this|same|that)\s+(?:time|day|date|week|weekend|month|quarter|period)\s+(?:in\s+)?\Z"
)
_BUT_FOR: Final = re.compile(r"\b(?:(?:other|rather)\s+than|(?:all|any\w*|every\w*)\s+but)\s+\Z")


def is_denied(text: Text, start: int, end: int) -> bool:
    """Return whether the words round a time deny it, or make it a part of something unknown."""
    before = text.previous_word(start)
    if before in _DENYING or before.endswith("n't") or _is_compound(text.folded, start, end):
        return True
    if before in _MEASURED and text.folded.startswith(_MEASURED_CUES, start):
        return True
    if before in _CHOOSING and _NUMBERED.match(text.folded, start):
        return True
    if before in NUMBERS and text.folded.startswith(tuple(NUMBERS), start):
        return True  # "twenty one days ago", of which only the end is known
    if before == "and" and _HALF.match(text.folded, start):
        return True
    near = max(0, start - 30)
    for pattern, words in ((_SAME_TIME, ("this", "same", "that")), (_BUT_FOR, ("but", "than"))):
        said = any(text.folded.find(word, near, start) >= 0 for word in words)
        if said and pattern.search(text.folded, near, start):
            return True
    return text.behind(end, _UNIT_AGAIN) is not None


def _is_compound(folded: str, start: int, end: int) -> bool:
    """Return whether it is a part of a longer word: *mid-October*, *A-2025-01-02*."""
    glued_before = start > 1 and folded[start - 1] in "-/._@#" and not folded[start - 2].isspace()
    if 1 < start < len(folded) and folded[start - 1] == "," and folded[start].isdecimal():
        glued_before = folded[start - 2].isdecimal()  # 1,000 days ago
    glued_after = folded[end : end + 1] in {"-", "/", "_"} and folded[end + 1 : end + 2].isalnum()
    return glued_before or glued_after
