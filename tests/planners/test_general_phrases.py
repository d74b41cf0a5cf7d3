"""The phrases of general English are written as they are looked up."""

from __future__ import annotations

from toolplan.planners.grounded.language.phrases import LONGEST, PHRASES, WordClass
from toolplan.planners.grounded.language.words import key, keys


def test_each_word_of_a_phrase_is_a_key() -> None:
    """`PHRASES` makes no keys: a word that is none would never be found."""
    assert [(word, key(word)) for phrase in PHRASES for word in phrase if key(word) != word] == []


def test_phrases_are_found_as_they_are_said() -> None:
    for said, sort in (("thanks", "filler"), ("Details", "detail")):
        assert WordClass(sort) in PHRASES.get(keys(said), frozenset()), said
    assert max(map(len, PHRASES)) == LONGEST
