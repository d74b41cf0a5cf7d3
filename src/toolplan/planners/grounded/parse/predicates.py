"""Words that mostly tie things together, in the places where they say a state of the thing itself.

"Boxes received in May" says no more than "boxes in May"; "received boxes" and "which boxes are
arriving" ask for some of them. Where no value is known for such a state, the word is not
understood: the answer would be all boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.mentions import Code, Mention

_STILL_TO_COME: Final = word_set("arriving coming going next")
_STATES: Final = word_set("""
    full flagged marked processed handled received sent shipped transported moved done assigned
    carried held stored used taken ended rated available
    """)
_ENDS: Final = (
    WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.OR, WordClass.THEN,
)  # fmt: skip
_OPENS: Final = (WordClass.FILLER, WordClass.READ, WordClass.EACH)


def unknown_states(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the words that say a state here, and no value of what the tools know."""
    asks_where = bool(mentions) and fold(mentions[0].text) == "where"
    for at, mention in enumerate(mentions):
        text = fold(mention.text)
        if mention.is_value or mention.verbs or text not in _STILL_TO_COME | _STATES:
            continue
        before = next((m for m in reversed(mentions[:at]) if not _is_filler(m)), None)
        after = mentions[at + 1 :]
        ends = not after or after[0].does(*_ENDS)
        if text not in _STILL_TO_COME:
            unknown = _describes(before, after) or (ends and _is_said(before))
        elif before is not None and before.does(*_ENDS):
            unknown = False  # "…, next their letters"
        else:
            behind = _is_said(before) or (before is not None and bool(before.nouns))
            unknown = _describes(before, after) or (ends and behind and not asks_where)
        if unknown:
            yield mention


def _is_filler(mention: Mention) -> bool:
    return mention.does(WordClass.FILLER, WordClass.NOT) and not mention.does(WordClass.BE)


def _describes(before: Mention | None, after: Sequence[Mention]) -> bool:
    """Return whether the word stands before a noun: "received boxes", but no "full box history"."""
    if not after or not after[0].nouns:
        return False
    behind = after[1] if len(after) > 1 else None
    if behind is not None and (behind.does(WordClass.DETAIL) or isinstance(behind.what, Code)):
        return False
    return before is None or before.does(*_OPENS, *_ENDS)


def _is_said(before: Mention | None) -> bool:
    return before is not None and before.does(WordClass.BE, WordClass.RELATIVE)
