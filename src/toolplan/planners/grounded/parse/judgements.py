"""What is said of things after some of them were chosen: "are the two longest boxes red?".

A condition is applied before the choice, "the two longest red boxes", or after it. The two have
different answers, and a plan here applies it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from typing import Final

from toolplan.planners.grounded.language.phrases import FINITE, WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.mentions import Code, Mention, Name, Number, Time
from toolplan.planners.grounded.parse.noun_phrase import opens_clause

_AUXILIARIES: Final = word_set("is are was were do does did has have had")
_SPEAKERS: Final = word_set("we you i there")
_ASKERS: Final = _SPEAKERS | {"they", "it"}
_CHOSEN_AGAIN: Final = word_set("which how what only just those")
_CHOSEN_OF: Final = word_set("only ones one")
_HOLDING: Final = word_set("""
    have has had contain include involve carry hold come came go went weigh exceed belong
    """)
_DOING: Final = word_set("do does did")
_ALL: Final = frozenset({"all", "all of", "every", "each", "both", "every one of", "all of them"})
_MOST_OR_ALL: Final = _ALL | {"most", "most of"}
_ONLY: Final = word_set("only exclusively solely just")
_CHOOSING: Final = (
    WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST, WordClass.TOP, WordClass.EXTREME,
    WordClass.HIGHEST, WordClass.LOWEST, WordClass.MOST, WordClass.FEWEST, WordClass.WORST,
)  # fmt: skip
_BOUNDS: Final = (
    WordClass.ABOVE, WordClass.BELOW, WordClass.BETWEEN, WordClass.EXACTLY, WordClass.LIMIT,
)  # fmt: skip
_BREAKS: Final = (WordClass.STOP, WordClass.COMMA, WordClass.THEN)
_TIES: Final = (WordClass.LINK, WordClass.BE)


def said_after_choice(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the values that are said of what was chosen before."""
    chosen, things = None, set[str]()
    for clause in _clauses(mentions):
        if chosen is not None and _speaks_of(things, clause):
            # "of the last 3 boxes, which are red"
            yield from [mention for mention in clause if _is_value(mention)][:1]
        noun = _choice(clause)
        if noun is None:
            continue
        chosen, things = noun, set(clause[noun].nouns)
        tail = clause[noun + 1 :]
        if not _asks_whether(clause):
            yield from _said(tail, _is_part(clause[:noun]))
        elif any(map(_is_named, clause[:noun])):  # "is B1 the longest box"
            yield from filter(_is_named, clause[:noun])
        else:
            yield from _last_value(tail)


def _speaks_of(things: set[str], clause: Sequence[Mention]) -> bool:
    """Return whether `clause` says something of the things that were chosen before."""
    if not clause or not all(things.issuperset(m.nouns) for m in clause):
        return False
    opens = fold(clause[0].text).split()[0] in _CHOSEN_AGAIN
    return opens or any(fold(m.text) in _CHOSEN_OF for m in clause)


def said_of_all(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the word that asks whether something holds of all: "are all boxes red"."""
    for clause in _clauses(mentions):
        if _asks_whether(clause):
            yield from (m for m in clause[1:] if fold(m.text) in _ALL)


def said_of_each(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield an "all" that is said of what other things have: "towns where all boxes are red".

    A state before its thing only says which are meant: "letters of all red boxes".
    """
    for clause in _clauses(mentions):
        tied = next((at for at in range(len(clause)) if _ties_others(clause, at)), None)
        if tied is None:
            continue
        relative = _is_relative(clause[tied])
        # "boxes that broke all seals": what was done to them stands in one word with "that"
        first = tied + 1 if clause[tied].does(WordClass.RELATIVE) else tied
        for at, mention in enumerate(clause[tied + 1 :], tied + 1):
            one_of_them = mention.does(WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST)
            if relative and one_of_them:
                yield mention  # "boxes whose last letter is red"
            if fold(mention.text) not in _MOST_OR_ALL or fold(clause[at - 1].text) == "the":
                continue
            behind = list(takewhile(lambda m: m.cue is None, clause[at + 1 :]))
            if fold(mention.text) == "both" and not (behind and behind[0].nouns):
                continue  # "both red and blue ones"
            nouns = [i for i, m in enumerate(behind) if m.nouns]
            stated = behind[nouns[0] + 1 :] if nouns else behind
            before = relative and nouns[:1] == [0]
            if any(m.values for m in stated) or (
                before and any(m.values for m in clause[first:at])
            ):
                yield mention


def _ties_others(clause: Sequence[Mention], at: int) -> bool:
    """Return whether behind `at` it is said what a thing before it has."""
    mention = clause[at]
    tie = _is_relative(mention) or mention.does(WordClass.HAVE) or mention.cue == "with"
    return tie and any(m.nouns or m.columns for m in clause[:at])


def _is_relative(mention: Mention) -> bool:
    return mention.does(WordClass.RELATIVE) or (bool(mention.values) and opens_clause(mention))


def judges(message: str, mentions: Sequence[Mention], chosen: bool) -> bool:
    """Return whether a follow-up asks about things, some of which were `chosen`: "are they red"."""
    said = message.casefold().split()
    if not said or said[0] not in _AUXILIARIES or (len(said) > 1 and said[1] in _SPEAKERS):
        return False
    every = any(fold(mention.text) in _ALL for mention in mentions)
    return chosen or every or any(mention.does(*_CHOOSING) for mention in mentions)


def only_some(mentions: Sequence[Mention], lists: Collection[str]) -> Iterator[Mention]:
    """Yield an "only" that is said of what other things have: "towns with only red boxes".

    `lists` are the words before the values of columns that hold lists.
    """
    for at, mention in enumerate(mentions):
        if at == 0 or fold(mention.text) not in _ONLY:
            continue
        before, behind = mentions[at - 1], mentions[at + 1 : at + 2]
        tied = before.does(WordClass.HAVE, WordClass.LINK, WordClass.RELATIVE)
        # "yards that accept only glass", "people only did nights"
        tied = tied or before.cue in lists or (bool(behind) and fold(behind[0].text) in _DOING)
        things = any(m.nouns or m.columns for m in mentions[:at])
        tied = tied and things and any(m.nouns or m.values for m in mentions[at + 1 :])
        if tied or _only_behind(mentions, at):
            yield mention


def _only_behind(mentions: Sequence[Mention], at: int) -> bool:
    """Return whether "only" stands behind what other things have: "towns with red boxes only"."""
    if at + 1 < len(mentions) and mentions[at + 1].cue == "with":  # "boxes just with letters"
        tie, said = at, mentions[at + 2 :]
    else:
        ties = [i for i, m in enumerate(mentions[:at]) if m.does(WordClass.HAVE) or m.cue == "with"]
        tie = ties[-1] if ties else 0
        said = mentions[tie + 1 : at]
        if said and isinstance(said[-1].what, Time):
            return False  # of that time only
    things = {entity for m in mentions[:tie] for entity in m.nouns}
    if not things:
        return False
    return any(
        not things.issuperset(m.nouns)
        or (bool(m.values) and all(value.entity not in things for value in m.values))
        for m in said
    )


def _clauses(mentions: Sequence[Mention]) -> Iterator[list[Mention]]:
    clause: list[Mention] = []
    for mention in mentions:
        if mention.does(*_BREAKS):
            yield clause
            clause = []
        else:
            clause.append(mention)
    yield clause


def _choice(clause: Sequence[Mention]) -> int | None:
    """Return the index of the noun, or the superlative behind it, that some are chosen of."""
    for at, mention in enumerate(clause):
        number = isinstance(mention.what, Number) and mention.what.unit is None
        bound = at > 0 and clause[at - 1].does(*_BOUNDS)
        if not (mention.does(*_CHOOSING) or number) or bound:
            continue
        for behind, other in enumerate(clause[at + 1 :], at + 1):
            if other.does(*_TIES, WordClass.RELATIVE) or other.cue is not None:
                break
            if other.nouns:
                return behind
        before = any(other.nouns for other in clause[:at])
        if before and not number and not any(m.does(*_TIES) for m in clause[1:at]):
            return at + 1 if at + 1 < len(clause) and clause[at + 1].columns else at
    return None


def _asks_whether(clause: Sequence[Mention]) -> bool:
    first, second = (fold(clause[0].text), fold(clause[1].text)) if len(clause) > 1 else ("", "")
    return first in _AUXILIARIES and second not in _ASKERS


def _is_part(before: Sequence[Mention]) -> bool:
    """Return whether the choice is one to take some of: "which of the last three"."""
    return any(fold(mention.text).split()[-1] == "of" for mention in before)


def _said(tail: Sequence[Mention], part: bool) -> Iterator[Mention]:
    """Yield the value behind the verb of the main clause."""
    for at, mention in enumerate(tail):
        if mention.does(WordClass.RELATIVE, WordClass.WHICH):
            return
        text = fold(mention.text)
        named = at > 0 and tail[at - 1].cue is not None
        if part and mention.values and not named and mention.cue is None:
            yield mention  # "how many of the last three from York broke"
            return
        if text in FINITE or (part and text in _HOLDING):
            yield from _first_value(tail[at + 1 :])
            return


def _first_value(tail: Sequence[Mention]) -> Iterator[Mention]:
    for mention in tail:
        if _is_value(mention) or (mention.nouns and not mention.does(WordClass.DETAIL)):
            yield mention
            return
        if not mention.does(WordClass.FILLER, WordClass.NOT) and mention.cue is None:
            return


def _last_value(tail: Sequence[Mention]) -> Iterator[Mention]:
    said = [mention for mention in tail if _is_value(mention) or mention.nouns]
    yield from said[-1:]


def _is_named(mention: Mention) -> bool:
    named = any(isinstance(value.value, str) for value in mention.values)
    return named or isinstance(mention.what, Name | Code)


def _is_value(mention: Mention) -> bool:
    return mention.is_value or isinstance(mention.what, Name | Code | Time)
