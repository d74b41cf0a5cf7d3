"""The terms of a text: words in lower case, without their endings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_LONGEST: Final = 60
_MOST_TEXT: Final = 20_000
_FIRST_WITHOUT_SPACES: Final = "\u2e80"
_LAST_WITHOUT_SPACES: Final = "\uffdc"

_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")

# fmt: off
STOP_WORDS: Final = frozenset((
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but",
    "by", "can", "could", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if",
    "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "shall",
    "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
))
# fmt: on
"""Words that no tool is about, however rare they are in a catalogue."""


def terms(text: str) -> Iterator[str]:
    """Yield the terms of `text`, in order; names in any spelling are split into words.

    Text in scripts without spaces yields every pair of neighbouring characters.

    >>> list(terms("listShipments: the facility_ids of deleted shipments"))
    ['list', 'shipment', 'facility', 'id', 'delet', 'shipment']
    """
    for word in _WORD.findall(_SEAM.sub(" ", text[:_MOST_TEXT])):
        yield from _terms_of(word)


@lru_cache(maxsize=16_384)  # catalogues repeat their words
def _terms_of(run: str) -> tuple[str, ...]:
    word = _plain(run)
    if len(word) > _LONGEST or word in STOP_WORDS:
        return ()
    if _FIRST_WITHOUT_SPACES <= word[0] <= _LAST_WITHOUT_SPACES and len(word) > 2:
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    return (stem(word),)


def stem(word: str) -> str:
    """Return `word`, in lower case, without its inflection.

    >>> [stem(word) for word in ("creates", "created", "creating", "creation", "status", "ids")]
    ['creat', 'creat', 'creat', 'creat', 'status', 'id']
    """
    word = _singular(word)
    for ending in ("ing", "ion", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            rest = word[: -len(ending)]
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singular(word: str) -> str:
    if len(word) <= 2 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _plain(word: str) -> str:
    """Return `word` in lower case and without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare) or word
