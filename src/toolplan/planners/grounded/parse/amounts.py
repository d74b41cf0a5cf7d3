"""Bounds and cuts in a row of mentions: "over 5 kg", "between 1 and 2 kg", "the latest 20"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import keys, phrase_list
from toolplan.planners.grounded.parse.mentions import Mention, Number
from toolplan.planners.grounded.parse.requests import Cut, Operator

_STRICT: Final = phrase_list("""
    over|more than|above|greater than|exceeding|exceed|larger than|bigger than|heavier than|>
    |higher than|in excess of|longer than|beyond|under|less than|below|fewer than|smaller than
    |lighter than|<|lower than|shorter than
    """)
_IS: Final = WordClass.BE
CUTS = (WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST, WordClass.TOP, WordClass.LIMIT)


class Bound(Struct, frozen=True):
    """A number with its side; `said` are the words of it; `last` is the index of the last one."""

    number: Mention
    operator: Operator
    upper: Mention | None
    said: tuple[Mention, ...]
    last: int


class FoundCut(Struct, frozen=True):
    """A cut, and the index behind its words."""

    cut: Cut
    behind: int


def bound_at(mentions: Sequence[Mention], at: int) -> Bound | None:
    """Read the bound that starts at `at` with its words: "over 5 kg"; None where none does."""
    mention = mentions[at]
    first = mentions[at + 1] if at + 1 < len(mentions) else None
    if first is None or not isinstance(first.what, Number):
        return None
    if mention.does(WordClass.BETWEEN):
        return _between(mentions, at, first)
    operator: Operator = ">=" if mention.does(WordClass.ABOVE) else "<="
    if mention.does(WordClass.EXACTLY):
        operator = "="
    return _with_share(mentions, Bound(first, operator, None, (mention,), at + 1))


def bound_behind(mentions: Sequence[Mention], at: int) -> Bound | None:
    """Read "minimum weight 5 kg", "minimum weight of 5 kg" from its first word on, or None."""
    behind = at + 2
    ties: tuple[Mention, ...] = ()
    if behind < len(mentions) and (mentions[behind].cue == "of" or mentions[behind].does(_IS)):
        ties, behind = (mentions[behind],), behind + 1
    if behind >= len(mentions) or not isinstance(mentions[behind].what, Number):
        return None
    bound = bound_at((mentions[at], mentions[behind]), 0)
    return bound and replace(bound, said=(*bound.said, *ties), last=behind)


def bound_from_number(mentions: Sequence[Mention], at: int) -> Bound | None:
    """Read the bound whose number stands at `at`: "5 kg or more"."""
    number = mentions[at]
    following = mentions[at + 1] if at + 1 < len(mentions) else None
    if following is None or not following.does(WordClass.ABOVE, WordClass.BELOW):
        return None
    if following.text.split()[0].casefold() not in ("or", "and"):
        return None
    if not isinstance(number.what, Number) or number.what.unit is None:
        return None
    operator: Operator = ">=" if following.does(WordClass.ABOVE) else "<="
    return _with_share(mentions, Bound(number, operator, None, (following,), at + 1))


def share_at(mentions: Sequence[Mention], at: int) -> Bound | None:
    """Read "90% full" with its number at `at`: the words for what is full are part of it."""
    bound = Bound(mentions[at], "=", None, (), at)
    found = _with_share(mentions, bound)
    return found if found is not bound else None


def _with_share(mentions: Sequence[Mention], bound: Bound) -> Bound:
    """Take "full", "of capacity" behind a percentage into the bound."""
    what = bound.number.what
    following = mentions[bound.last + 1] if bound.last + 1 < len(mentions) else None
    if not isinstance(what, Number) or what.unit not in ("%", "percent") or following is None:
        return bound
    if not following.does(WordClass.FULL):
        return bound
    return replace(bound, said=(*bound.said, following), last=bound.last + 1)


def strictly(mention: Mention) -> bool:
    """Return whether the words of a bound leave the number itself out: "more than", "below"."""
    said = " ".join(mention.text.casefold().split())
    return said in _STRICT or " ".join(keys(said)) in _STRICT


def cut_at(mentions: Sequence[Mention], at: int) -> FoundCut | None:
    """Read "latest 20", "first 5", "the newest" from `at` on; None where there is no cut."""
    mention = mentions[at]
    following = mentions[at + 1] if at + 1 < len(mentions) else None
    newest, oldest = mention.does(WordClass.LATEST), mention.does(WordClass.OLDEST)
    if mention.does(WordClass.TOP):
        return None  # by which figure?
    if following is not None and isinstance(following.what, Number):
        if following.what.unit is not None or following.what.value < 1:
            return None
        count = int(following.what.value)
        return FoundCut(Cut(count, newest, oldest, (mention, following)), at + 2)
    if newest or oldest or mention.does(WordClass.FIRST):
        # of one thing, the first is the oldest
        return FoundCut(Cut(None, newest, oldest or not newest, (mention,)), at + 1)
    return None


def _between(mentions: Sequence[Mention], at: int, first: Mention) -> Bound | None:
    rest = mentions[at + 2 : at + 4]
    if len(rest) < 2 or not (rest[0].does(WordClass.AND) or rest[0].cue == "to"):
        return None
    if not isinstance(rest[1].what, Number):
        return None
    return Bound(first, ">=", rest[1], (mentions[at], rest[0], rest[1]), at + 3)
