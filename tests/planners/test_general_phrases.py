"""The phrases of general English are written as they are looked up."""

from __future__ import annotations

from toolplan.planners.grounded.language.phrases import LONGEST, PHRASES, WordClass
from toolplan.planners.grounded.language.verbs import (
    IMPERATIVE_VERBS,
    gerund,
    gerunds_of,
    participle,
    participles_of,
)
from toolplan.planners.grounded.language.words import key, keys


def test_each_word_of_a_phrase_is_a_key() -> None:
    """`PHRASES` makes no keys: a word that is none would never be found."""
    assert [(word, key(word)) for phrase in PHRASES for word in phrase if key(word) != word] == []


def test_phrases_are_found_as_they_are_said() -> None:
    for said, sort in (("thanks", "filler"), ("Details", "detail")):
        assert WordClass(sort) in PHRASES.get(keys(said), frozenset()), said
    assert max(map(len, PHRASES)) == LONGEST


def test_each_form_of_a_verb_is_known_and_no_other_word() -> None:
    verbs = IMPERATIVE_VERBS.items()
    doing = {form: action for verb, action in verbs for form in gerunds_of(verb)}
    done = {form: action for verb, action in verbs for form in participles_of(verb)}
    assert {form: gerund(form) for form in doing} == doing
    assert {form: participle(form) for form in done} == done
    others = {word for phrase in PHRASES for word in phrase} | {"", "ing", "ed", "d", "e", "sing"}
    assert [word for word in others - doing.keys() if gerund(word)] == []
    assert [word for word in others - done.keys() if participle(word)] == []
