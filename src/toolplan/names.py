"""What a name that misses may have meant.

Near names are offered; one is put in only where it is the same name spelt otherwise. Likeness alone
is no ground for that: `Text Classification` and `Token Classification`, or `decrypt` and `encrypt`,
are very alike and mean other things.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import groupby
from typing import Final, NamedTuple

from toolplan.diagnostics import near

LONGEST: Final = 200
"""A longer name is compared with no other: that would take long, and nobody mistypes so much."""

_OFFERED: Final = 3
_LOOKED_AT: Final = 12
_LONG_WORD: Final = 5

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


class Suggestion(NamedTuple):
    """The names that are `near`, the nearest first, and the one that was surely meant, if any."""

    near: tuple[str, ...] = ()
    sure: str | None = None


def suggest(name: str, names: Collection[str]) -> Suggestion:
    """Return those of `names` that a writer may have meant by `name`."""
    if len(name) > LONGEST:
        return Suggestion()
    close = near(name, [each for each in names if len(each) <= LONGEST], most=_LOOKED_AT)
    same = [each for each in close if words(each) == words(name)] or [
        each for each in close if _joined(each) == _joined(name)
    ]
    sure = same or [each for each in close if is_misspelt(name, each)]
    return Suggestion(tuple(close[:_OFFERED]), sure[0] if len(sure) == 1 else None)


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, however they are set apart.

    >>> words("inputImage_2"), words("Image-to-Text")
    (('input', 'image', '2'), ('image', 'to', 'text'))
    """
    return tuple(word.casefold() for word in _WORD.findall(name))


def is_misspelt(name: str, right: str) -> bool:
    """Say whether `name` is `right` with one slip of the hand in one word, or one plural too many.

    The first letter is never the slip, and short words have none: `get` is not `set`.

    >>> is_misspelt("shipment_list", "shipments_list"), is_misspelt("custommer", "customer")
    (True, True)
    >>> is_misspelt("decode", "encode"), is_misspelt("min_total", "max_total")
    (False, False)
    >>> is_misspelt("s999", "s99")
    False
    """
    ones, others = words(name), words(right)
    if len(ones) != len(others):
        return False
    different = [(a, b) for a, b in zip(ones, others, strict=True) if a != b]
    return len(different) == 1 and _is_slip(*different[0])


def _joined(name: str) -> str:
    return "".join(words(name))


def _once(word: str) -> str:
    """Return `word` with no letter twice running: `citty` is `city`."""
    return "".join(letter for letter, _ in groupby(word))


def _is_slip(one: str, other: str) -> bool:
    if not (one + other).isalpha():  # 99 is not 999
        return False
    if one + "s" == other or other + "s" == one or _once(one) == _once(other):
        return True
    short, long = sorted((one, other), key=len)
    if one[0] != other[0] or len(long) < _LONG_WORD:
        return False
    if len(short) == len(long):
        places = [at for at, pair in enumerate(zip(one, other, strict=True)) if len(set(pair)) > 1]
        swapped = len(places) == 2 and places[1] == places[0] + 1
        return len(places) == 1 or (swapped and sorted(one) == sorted(other))
    return len(long) == len(short) + 1 and any(
        long[:at] + long[at + 1 :] == short for at in range(len(long))
    )
