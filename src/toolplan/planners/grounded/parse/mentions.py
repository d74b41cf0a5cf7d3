"""What stands in a question: tokens, and the mentions that are made of them."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from toolplan.planners.grounded.catalogue.kinds import (
    ColumnOf,
    CueOf,
    Noun,
    Reading,
    ReportOf,
    ValueOf,
    VerbOf,
)
from toolplan.planners.grounded.dates import TimeMention
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.verbs import Action
from toolplan.planners.grounded.language.words import keys


class Token(Struct, frozen=True):
    """A word, number or sign, at characters `start` to `end` (exclusive) of the question.

    `word` is the index of the blank-separated word that it belongs to.
    """

    text: str
    key: str
    start: int
    end: int
    word: int


class Phrase(Struct, frozen=True):
    """Words that the catalogue or general English knows, with all that they may mean."""

    readings: tuple[Reading, ...]
    classes: frozenset[WordClass]


class Time(Struct, frozen=True):
    """A time, already read against today."""

    mention: TimeMention


class Number(Struct, frozen=True):
    """A number, with its unit's name where one stands behind it."""

    value: float
    unit: str | None


class Code(Struct, frozen=True):
    """Letters with digits, such as identities are."""

    text: str


class Quoted(Struct, frozen=True):
    """Text in quotation marks, without them."""

    text: str


class Name(Struct, frozen=True):
    """Words with capitals that nothing knows."""

    text: str


class Unknown(Struct, frozen=True):
    """A word that nothing knows."""

    text: str


class Imperative(Struct, frozen=True):
    """A verb that demands an action for which no tool is known.

    `known`: the word has other meanings too, and only its place makes it a verb.
    """

    text: str
    action: Action
    known: bool


What: TypeAlias = Phrase | Time | Number | Code | Quoted | Name | Unknown | Imperative


class Mention(Struct, frozen=True):
    """Tokens `first` to `end` (exclusive), and what they are; `text` is as it was written."""

    first: int
    end: int
    text: str
    words: tuple[int, int]
    what: What

    def does(self, *classes: WordClass) -> bool:
        """Return whether it may do one of `classes`."""
        return isinstance(self.what, Phrase) and not self.what.classes.isdisjoint(classes)

    @property
    def classes(self) -> frozenset[WordClass]:
        """All that it may do in general English."""
        return self.what.classes if isinstance(self.what, Phrase) else frozenset()

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All that it may mean in the catalogue."""
        return self.what.readings if isinstance(self.what, Phrase) else ()

    @property
    def nouns(self) -> tuple[str, ...]:
        """The kinds of things that it may be a word for."""
        return tuple(each.entity for each in self.readings if isinstance(each, Noun))

    @property
    def values(self) -> tuple[ValueOf, ...]:
        """The values that it may be."""
        return tuple(each for each in self.readings if isinstance(each, ValueOf))

    @property
    def verbs(self) -> tuple[str, ...]:
        """The kinds of things that it may be a verb for."""
        return tuple(each.entity for each in self.readings if isinstance(each, VerbOf))

    @property
    def columns(self) -> tuple[ColumnOf, ...]:
        """The attributes that it may name."""
        return tuple(each for each in self.readings if isinstance(each, ColumnOf))

    @property
    def reports(self) -> tuple[str, ...]:
        """The reporting tools that it may ask for."""
        return tuple(each.tool for each in self.readings if isinstance(each, ReportOf))

    @property
    def cue(self) -> str | None:
        """It as a word before a value, in keys; None where it is no such word."""
        if any(isinstance(each, CueOf) for each in self.readings) or self.does(WordClass.CUE):
            return " ".join(keys(self.text))
        return None

    @property
    def is_value(self) -> bool:
        """Whether it may be a value of an attribute."""
        return bool(self.values) or isinstance(self.what, Code | Quoted | Name)


def present(*mentions: Mention | None) -> tuple[Mention, ...]:
    """Return those of `mentions` that are not None."""
    return tuple(mention for mention in mentions if mention is not None)
