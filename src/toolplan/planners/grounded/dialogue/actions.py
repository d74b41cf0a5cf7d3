"""What a message wants done: its verb, the kind of the act, and the single operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dialogue.entities import label_of
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.verbs import Action
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.mentions import Imperative, Mention

Act: TypeAlias = Literal["create", "read", "update", "delete", "analyze", "monitor", "perform"]
"""What a message wants done; `perform` is anything that is none of the others."""

_WRITES: Final[tuple[tuple[WordClass, Act], ...]] = (
    (WordClass.CREATE, "create"),
    (WordClass.UPDATE, "update"),
    (WordClass.DELETE, "delete"),
)
_ANALYSES: Final = word_set("""
    analyse analyze analysis review examine investigate explore study assess compare summarise
    summarize summary calculate compute
    """)
_MONITORS: Final = word_set("monitor track watch observe supervise")
_NO_VERBS: Final = word_set("analysis summary overview an a report")
_COMPUTES: Final = (
    WordClass.STATISTIC, WordClass.RATE, WordClass.TREND, WordClass.COMPARE, WordClass.RANK,
)  # fmt: skip


class Acts(Struct, frozen=True):
    """The verb of a message as it is said, the act, and the operations; see `Intent`."""

    action: str | None
    act: Act
    operations: tuple[str, ...]


class _Verb(Struct, frozen=True):
    word: str
    act: Act


def acts_of(mentions: tuple[Mention, ...], catalogue: Catalogue) -> Acts:
    """Return what the message of `mentions` wants done; the first verb decides."""
    verbs = [verb for mention in mentions if (verb := _verb(mention)) is not None]
    first = next((verb for verb in verbs if verb.word not in _NO_VERBS), None)
    act: Act = verbs[0].act if verbs else "read"
    if act == "read" and any(mention.does(*_COMPUTES) for mention in mentions):
        act = "analyze"
    operations = dict.fromkeys(_operations(mentions, catalogue))
    return Acts(None if first is None else first.word, act, tuple(operations))


def _verb(mention: Mention) -> _Verb | None:
    word = next(iter(re.findall(r"[^\W_]+", fold(mention.text))), "")
    if isinstance(mention.what, Imperative):
        if mention.what.action is Action.DESTROY:
            return _Verb(word, "delete")
        return _Verb(word, "monitor" if word in _MONITORS else "perform")
    for word_class, act in _WRITES:
        if mention.does(word_class):
            return _Verb(word, act)
    if word in _ANALYSES and mention.does(WordClass.READ, WordClass.COMPARE):
        return _Verb(word, "analyze")
    return _Verb(word, "read") if mention.does(WordClass.READ) else None


def _operations(mentions: tuple[Mention, ...], catalogue: Catalogue) -> Iterator[str]:
    """Yield each verb with what it is about, and each value that narrows it."""
    verb = _Verb("read", "read")
    for mention in mentions:
        if (found := _verb(mention)) is not None:
            verb = found
            continue
        named = verb.word if verb.act == "perform" or verb.word == "check" else verb.act
        for thing in _things(mention):
            yield f"{named}_{thing}"
        if verb.act != "create" and mention.values:
            yield f"filter_{_narrowing(mention, catalogue)}"


def _things(mention: Mention) -> tuple[str, ...]:
    if mention.nouns:
        return mention.nouns[:1]
    is_named = mention.reports or (mention.columns and not mention.values)
    return (_snake(mention.text),) if is_named else ()


def _narrowing(mention: Mention, catalogue: Catalogue) -> str:
    value = mention.values[0]
    if not isinstance(value.value, str):
        return _snake(mention.text)
    return f"{_snake(value.value)}_{label_of(value, catalogue)}"


def _snake(text: str) -> str:
    return "_".join(re.findall(r"[^\W_]+", fold(text)))
