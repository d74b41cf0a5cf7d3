"""What speaks against fitting a plan to another question: better no plan than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from toolplan.planners.cache._leaves import Scalar
from toolplan.planners.cache._slots import Amount, Days, Identity, Slot, Value
from toolplan.planners.grounded.dates.words import MONTHS, WEEKDAYS
from toolplan.planners.grounded.language.words import NUMBER_WORDS, keys, word_set
from toolplan.planners.grounded.parse.linker import Linker

Pair: TypeAlias = tuple[Slot, Slot]
"""A part of the question that a plan was made for, and the same part of the other question."""

_DATE: Final = re.compile(r"(?<!\d)\d{4}([-_/.]?)\d{2}(?:\1\d{2})?(?!\d)")
_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile(r"(?<![\d.-])\d+(?![\d.-])")
_PERIODS: Final = word_set("hour day week weekend month quarter year today yesterday tomorrow")
_TIME_WORDS: Final = {keys(word) for word in (*_PERIODS, *MONTHS, *WEEKDAYS)}


class InDoubt(Exception):
    """The plan cannot surely be fitted; the text says why."""


def refuse_shared(changed: Sequence[Pair], pairs: Sequence[Pair]) -> None:
    """Refuse where another part says what a changed part says: whose place is it, then, is open."""
    for one, _ in changed:
        if sum(_same(one, other) for other, _ in pairs) > 1:
            raise InDoubt(f"{one.content!r} is said twice.")


def refuse_reordered(pairs: Sequence[Pair]) -> None:
    """Refuse where the lesser of two amounts becomes the greater: they may be two ends."""
    amounts = [
        (a.base, b.base) for a, b in pairs if isinstance(a, Amount) and isinstance(b, Amount)
    ]
    for at, (old, new) in enumerate(amounts):
        for other_old, other_new in amounts[at + 1 :]:
            if (old < other_old) != (new < other_new) or (old > other_old) != (new > other_new):
                raise InDoubt("The order of two amounts is another one.")


def _same(one: Slot, other: Slot) -> bool:
    if isinstance(one, Days) and isinstance(other, Days):
        mine = {day for day in one.range if day is not None}
        return bool(mine & {day for day in other.range if day is not None})
    return type(one) is type(other) and one.content == other.content


def refuse_elsewhere(slot: Slot, rest: Sequence[Scalar]) -> None:
    """Refuse where what is replaced also stands where it would not be replaced."""
    match slot:
        case Days():
            _refuse_spans(slot, rest)  # of its dates, `refuse_unknown_dates` finds each
        case Amount():
            _refuse_numbers({slot.base, slot.said}, slot, rest)
        case Value() | Identity():
            for text in (slot.content, slot.place.text):
                if any(isinstance(value, str) and _bare(text) in _bare(value) for value in rest):
                    raise _elsewhere(slot)


def _refuse_spans(slot: Days, rest: Sequence[Scalar]) -> None:
    """Refuse where the plan may say the time in another way than by its dates: 7, or *week*."""
    said = set(_WORD.findall(slot.place.text.casefold()))
    words = {keys(word) for word in said} & _TIME_WORDS
    texts = (_WORD.findall(value.casefold()) for value in rest if isinstance(value, str))
    if any(keys(word) in words for text in texts for word in text):
        raise _elsewhere(slot)
    numbers = {float(number) for number in _NUMBER.findall(slot.place.text)}
    numbers.update(float(NUMBER_WORDS[word]) for word in said if word in NUMBER_WORDS)
    start, end = slot.range
    if start is not None and end is not None and start != end:
        numbers |= {float((end - start).days), float((end - start).days + 1)}
    _refuse_numbers(numbers, slot, rest)


def _refuse_numbers(numbers: set[float], slot: Slot, rest: Sequence[Scalar]) -> None:
    spoken = [re.compile(rf"(?<![\d.-]){number:g}(?![\d.-])") for number in numbers]
    for value in rest:
        if isinstance(value, str):
            if any(each.search(value) for each in spoken):
                raise _elsewhere(slot)
        elif float(value) in numbers:
            raise _elsewhere(slot)


def _elsewhere(slot: Slot) -> InDoubt:
    return InDoubt(f"{slot.place.text!r} may stand in other text of the plan.")


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def refuse_unknown_dates(rest: Sequence[Scalar], known: Sequence[Slot]) -> None:
    """Refuse dates, in whatever spelling, of which it is not known which words they came from."""
    explained = {slot.content for slot in known}
    explained.update(
        day.isoformat() for slot in known if isinstance(slot, Days) for day in slot.range if day
    )
    for value in rest:
        if isinstance(value, str) and value not in explained and _DATE.search(value):
            raise InDoubt(f"{value!r} has a date that no word of the question gives.")


def refuse_unknown_identities(
    rest: Sequence[Scalar], known: Sequence[Slot], linker: Linker
) -> None:
    """Refuse identities that no word gives: they may be those of what is asked for no more."""
    explained = {slot.content for slot in known}
    for value in rest:
        if isinstance(value, str) and value not in explained and linker.owner(value) is not None:
            raise InDoubt(f"{value!r} is an identity that no word of the question gives.")
