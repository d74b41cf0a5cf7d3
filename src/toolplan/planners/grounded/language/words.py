"""Words as they are compared, and what they say of numbers: units, and numbers spelled out.

Everything is compared by `key`, which makes plural and singular, British and American spelling,
accents and letter case the same. The function need not give English; it only has to give the same
for the same word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


def phrase_list(text: str) -> tuple[str, ...]:
    """Return the phrases of `text`, which bars separate."""
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


_INVARIANT: Final = word_set("""
    has is was this its his as us plus less does yes thus always across gas bus status analysis
    basis lens news series minus versus besides previous address various heaviest
    """)


SKIPPED_INSIDE: Final = frozenset(["any", "a", "an", "the", "some", "do", "does", "did", "all"])
"""Words that may stand inside of a phrase without changing it."""


_SMALL_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {word: number for number, word in enumerate(_SMALL_NUMBERS.split())}
    | {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100}
)

UNITS: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {
        name: (dimension, factor)
        for dimension, names in {
            "mass": {
                "mg": 1e-6, "milligram": 1e-6, "g": 1e-3, "gram": 1e-3, "gramme": 1e-3, "kg": 1.0,
                "kilo": 1.0, "kilogram": 1.0, "kilogramme": 1.0, "t": 1000.0, "ton": 1000.0,
                "tonne": 1000.0, "tonnes": 1000.0, "tons": 1000.0, "metric ton": 1000.0,
                "lb": 0.45359237, "pound": 0.45359237,
            },
            "concentration": {"ppm": 1.0, "part per million": 1.0, "ppb": 0.001},
            "duration": {"s": 1 / 60, "second": 1 / 60, "minute": 1.0, "min": 1.0, "hour": 60.0,
                         "h": 60.0, "day": 1440.0, "d": 1440.0},
            "length": {"mm": 1e-3, "cm": 0.01, "m": 1.0, "metre": 1.0, "km": 1000.0,
                       "kilometre": 1000.0, "mile": 1609.344},
            "share": {"%": 1.0, "percent": 1.0},
            "money": {"eur": 1.0, "euro": 1.0, "€": 1.0},
            "dollars": {"usd": 1.0, "dollar": 1.0, "$": 1.0},
            "pages": {"page": 1.0},
        }.items()
        for name, factor in names.items()
    }
)  # fmt: skip
"""Names of units: the dimension, and the factor to that dimension's base unit."""


def dimension(unit: str | None) -> str | None:
    """Return what `unit` measures, such as mass; None for no unit and for an unknown one."""
    found = UNITS.get(key(unit)) if unit else None
    return found[0] if found is not None else None


def fold(text: str) -> str:
    """Return `text` without case and accents.

    >>> fold("Köln")
    'koln'
    """
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return "".join(char for char in spread if not unicodedata.combining(char))


@lru_cache(maxsize=8_192)
def key(word: str) -> str:
    """Return the form under which `word` is compared with others.

    >>> key("Libraries") == key("library"), key("colour") == key("color")
    (True, True)
    """
    folded = fold(word)
    if folded in _INVARIANT or not folded.isalpha():
        return folded
    return _american(_singular(folded))


def keys(phrase: str) -> tuple[str, ...]:
    """Return the keys of the words of `phrase`; hyphens and underscores separate words.

    >>> keys("High-speed_items")
    ('high', 'speed', 'item')
    """
    return tuple(map(key, phrase.replace("-", " ").replace("_", " ").split()))


def stem(word: str) -> str:
    """Return what a verb and the noun made from it share; equal only where they surely belong.

    >>> stem("rejected") == stem("rejection"), stem("acceptance") == stem("accepted")
    (True, True)
    """
    short = key(word)
    for ending in _ENDINGS:
        if short.endswith(ending) and len(short) - len(ending) >= 4:
            short = short.removesuffix(ending)
            break
    return short.removesuffix("at") if len(short) > 6 else short


_ENDINGS: Final = (
    "ations", "ation", "ions", "ion", "ance", "ence", "ment", "ures", "ure", "ated", "ed", "ing",
)  # fmt: skip


def plural(noun: str) -> str:
    """Return the plural of `noun`.

    >>> plural("copy"), plural("box"), plural("loan")
    ('copies', 'boxes', 'loans')
    """
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun + "s"


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")


_BRITISH: Final = {
    "isation": "ization", "ising": "izing", "ised": "ized", "ise": "ize", "ysed": "yzed",
    "ysing": "yzing", "yse": "yze", "our": "or", "ours": "ors", "tre": "ter", "lled": "led",
    "lling": "ling", "gue": "g", "ence": "ense",
}  # fmt: skip


_BRITISH_ENDINGS: Final = tuple(_BRITISH)


def _american(word: str) -> str:
    if not word.endswith(_BRITISH_ENDINGS):  # most words
        return word
    for british, american in _BRITISH.items():
        if word.endswith(british) and len(word) > len(british) + 2:
            return word.removesuffix(british) + american
    return word


def spellings(phrase: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return `phrase` and, where articles stand inside of it, also what is left without them.

    A reader skips articles inside of phrases, so the second is what it will look for.
    """
    if SKIPPED_INSIDE.isdisjoint(phrase[1:]):  # most phrases
        return (phrase,)
    bare = (*phrase[:1], *(word for word in phrase[1:] if word not in SKIPPED_INSIDE))
    return (phrase,) if bare == phrase or len(bare) == 1 else (phrase, bare)
