"""Answers to clarifications: the chosen option, and the completed question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from toolplan.planners.grounded.dialogue.intent import vague_words
from toolplan.planners.grounded.dialogue.turns import Pending
from toolplan.planners.grounded.language.words import fold, keys, word_set

_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_IDLE: Final = word_set("""
    the a an one ones please i mean meant option number yes ok okay it that this them those these
    is was of with would like take want let's lets go for all just only
    """)
_COUNTED: Final = re.compile(
    r"(?:the\s+|option\s+|number\s+|no\.?\s*|#)*(?P<which>\d+|[a-z]+)(?:\s+(?:one|option))?[.!)]*"
)


def choose(options: tuple[str, ...], reply: str) -> str | None:
    """Return the one of `options` that `reply` means, or None.

    By its place (*2*, *the second one*), its words, or words that no other option has.
    """
    said = " ".join(fold(reply).split())
    counted = _COUNTED.fullmatch(said)
    if counted is not None and (at := _place(counted["which"], len(options))) is not None:
        return options[at]
    same = [option for option in options if _keys(option) == _keys(reply)]
    if len(same) == 1:
        return same[0]
    meant = [word for word in _keys(reply) if word not in _IDLE]
    having = [option for option in options if set(meant) <= set(_keys(option))]
    return having[0] if meant and len(having) == 1 else None


def completed(pending: Pending, reply: str, chosen: str | None) -> Iterator[str]:
    """Yield the possible whole questions: the earlier one, completed by the reply."""
    question = pending.question
    if chosen is not None and _says_all(chosen, question):
        yield chosen
    elif pending.unexplained:
        value = chosen if chosen is not None else reply.strip(" .!?")
        if (unknown := _nearest(pending.unexplained, chosen)) is not None:
            pattern = re.compile(rf"(?<!\w){re.escape(unknown)}(?!\w)")
            if len(pattern.findall(question)) == 1:
                yield pattern.sub(lambda _: value, question)
        if chosen is not None and vague_words(question):
            yield f"Get {chosen}"
    elif chosen is not None:
        yield chosen
    elif not pending.options:
        value = reply.strip(" .!?,")
        bare = question.strip(" .!?,")
        yield from (f"{bare} {value}", f"{bare} for {value}", f"{bare} with {value}")


def _says_all(option: str, question: str) -> bool:
    """Return whether `option` is the question in other words rather than one of its words."""
    said, asked = set(_keys(option)), set(_keys(question))
    return len(said) > 1 and 2 * len(said & asked) >= len(said)


def _place(which: str, options: int) -> int | None:
    if which == "last" and options:
        return options - 1
    if which in _ORDINALS:
        at = _ORDINALS.index(which)
    elif which.isdigit():
        at = int(which) - 1
    else:
        return None
    return at if 0 <= at < options else None


def _nearest(unexplained: tuple[str, ...], chosen: str | None) -> str | None:
    """Return the word that the reply replaces: the only one, or the most similar one."""
    if len(unexplained) == 1:
        return unexplained[0]
    if chosen is None:
        return None
    likeness = {
        word: SequenceMatcher(None, fold(word), fold(chosen)).ratio() for word in unexplained
    }
    return max(likeness, key=lambda word: likeness[word])


def _keys(text: str) -> tuple[str, ...]:
    return keys(" ".join(re.findall(r"\w+", text)))
