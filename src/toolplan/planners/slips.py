"""Slips of one letter in long words of a domain: read as the word that they must be, and told so.

A word is only mended where a single known word is that near, where that word names a thing, a
column or a state of one (a name of somebody or some place may as well be another name), and where
it is not the verb of a clause: an unknown verb is an order that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from toolplan.planners.catalogue import Catalogue, ColumnOf, Noun, ValueOf
from toolplan.planners.mentions import Token
from toolplan.planners.phrases import PHRASES
from toolplan.planners.verbs import GERUNDS, ORDERS, PARTICIPLES
from toolplan.planners.words import plural

_SHORTEST: Final = 7


class Slip(NamedTuple):
    """The token at `at`, and the known word, as a key, that it must be."""

    at: int
    said: str
    word: str

    @property
    def note(self) -> str:
        """What a reader is told."""
        meant = plural(self.word) if self.said.casefold().endswith("s") else self.word
        return f"read '{self.said}' as '{meant}'"


def find_slips(
    tokens: Sequence[Token], places: Iterable[int], heads: frozenset[int], catalogue: Catalogue
) -> tuple[Slip, ...]:
    """Give the slips at `places`; none at all where one of them is no slip.

    `heads` are the places where a clause has its verb.
    """
    found: list[Slip] = []
    for at in places:
        word = _nearest(tokens[at].key, catalogue)
        if word is None or (at in heads and not _names_things(tokens[at], word, catalogue)):
            return ()
        found.append(Slip(at, tokens[at].text, word))
    return tuple(found)


def mended(tokens: Sequence[Token], slips: Iterable[Slip]) -> list[Token]:
    """Give `tokens` with the words that were meant."""
    meant: Mapping[int, str] = {slip.at: slip.word for slip in slips}
    return [token._replace(key=meant.get(at, token.key)) for at, token in enumerate(tokens)]


def _nearest(word: str, catalogue: Catalogue) -> str | None:
    """Give the only known word that is one letter off."""
    if len(word) < _SHORTEST or not word.isalpha():
        return None
    near = {each for each in _known(catalogue) if _is_one_off(word, each)}
    if len(near) != 1:
        return None
    only = next(iter(near))
    return only if only[0] == word[0] and _is_mendable(only, catalogue) else None


def _known(catalogue: Catalogue) -> Iterator[str]:
    for phrase in (*catalogue.lexicon, *PHRASES):
        if len(phrase) == 1:
            yield phrase[0]
    for verbs in (ORDERS, GERUNDS, PARTICIPLES):
        yield from verbs


def _is_mendable(word: str, catalogue: Catalogue) -> bool:
    readings = catalogue.lexicon.get((word,), ())
    return bool(readings) and all(
        isinstance(reading, Noun | ColumnOf)
        or (isinstance(reading, ValueOf) and not catalogue.attribute(reading).shape.gazetteer)
        for reading in readings
    )


def _names_things(token: Token, word: str, catalogue: Catalogue) -> bool:
    """Whether it names several things, as no order does."""
    readings = catalogue.lexicon.get((word,), ())
    return token.text.casefold().endswith("s") and any(isinstance(r, Noun) for r in readings)


def _is_one_off(one: str, other: str) -> bool:
    """Whether one letter is wrong, missing, too many, or changed with its neighbour."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    if len(one) == len(other):
        swapped = one[start : start + 2] == other[start : start + 2][::-1]
        return one[start + 1 :] == other[start + 1 :] or (
            swapped and one[start + 2 :] == other[start + 2 :]
        )
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return longer[start + 1 :] == shorter[start:]
