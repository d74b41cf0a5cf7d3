"""Every word of a question is accounted for: a step was made of it, or it never says anything.

What the parser has read is not what a plan does: words can be lost between the two. So this looks
only at what the steps were made of (`DraftPlan.accounted`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Imperative, Mention, Phrase
from toolplan.planners.grounded.parse.noun_phrase import is_pronoun

_SILENT = (
    WordClass.FILLER, WordClass.DETAIL, WordClass.WHICH, WordClass.READ, WordClass.BE,
    WordClass.RELATIVE, WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.THEN,
    WordClass.HAVE, WordClass.COMPARE,
)  # fmt: skip
"""Words that never carry meaning themselves: they hold together those that do."""
_BREAKS = (WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.THEN)
_TIES = frozenset({"of", "for", "in", "from"})


def unaccounted(mentions: Sequence[Mention], accounted: Collection[Mention]) -> list[Mention]:
    """Return those of `mentions` that no step was made of, and that may say something."""
    return [
        mention
        for clause in _clauses(mentions)
        for at, mention in enumerate(clause)
        if mention not in accounted and not _is_silent(clause, at, accounted)
    ]


def breaks_off(mentions: Sequence[Mention]) -> Mention | None:
    """Return the word behind which the question breaks off: "boxes from oak and"; else None."""
    said = [m for m in mentions if not m.does(WordClass.STOP)]
    last = said[-1] if said else None
    joins = last is not None and last.does(WordClass.AND, WordClass.OR, WordClass.BETWEEN)
    return last if joins and last is not None and not last.readings else None


def _clauses(mentions: Sequence[Mention]) -> Iterator[Sequence[Mention]]:
    start = 0
    for at, mention in enumerate(mentions):
        if mention.does(*_BREAKS):
            yield mentions[start:at]
            start = at
    yield mentions[start:]


def _is_silent(clause: Sequence[Mention], at: int, accounted: Collection[Mention]) -> bool:
    mention = clause[at]
    if not isinstance(mention.what, Phrase):
        return isinstance(mention.what, Imperative)  # refused elsewhere
    behind = clause[at + 1] if at + 1 < len(clause) else None
    if is_pronoun(mention, behind):
        return False
    if mention.does(*_SILENT):
        return True
    if mention.nouns or mention.values:
        return False
    asked = (WordClass.FILLER, WordClass.WHICH)  # "at which box"
    following = next((m for m in clause[at + 1 :] if not m.does(*asked)), None)
    if mention.does(WordClass.LINK):
        # it only says that two things belong together, one of which must be in the plan
        return any(other in accounted for other in clause)
    if mention.does(WordClass.FIRST):
        return following is not None and following.does(WordClass.READ)
    opens = behind is not None and behind.does(WordClass.WHICH)
    if mention.does(WordClass.EACH) or mention.cue in _TIES or (mention.cue and opens):
        return following is not None and following in accounted
    return False
