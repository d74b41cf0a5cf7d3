"""A question as units: mentions with the ways of saying them taken away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from toolplan.planners.cache import _wording as wording
from toolplan.planners.cache._slots import Amount, Days, Identity, Place, Slot, Value
from toolplan.planners.grounded.catalogue.kinds import Catalogue, ValueOf
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import UNITS, fold
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Imperative,
    Mention,
    Name,
    Number,
    Quoted,
    Time,
    Unknown,
)

_SUPERLATIVES: Final = (
    WordClass.HIGHEST, WordClass.LOWEST, WordClass.MOST, WordClass.FEWEST, WordClass.EXTREME,
    WordClass.LATEST, WordClass.OLDEST,
    WordClass.FIRST, WordClass.TOP,
)  # fmt: skip
_WEAK: Final = (
    *_SUPERLATIVES, WordClass.COUNT, WordClass.STATISTIC, WordClass.RATE, WordClass.BY,
    WordClass.PERIOD, WordClass.HAVE,
    WordClass.CUE, WordClass.ABOVE, WordClass.BELOW, WordClass.BETWEEN, WordClass.UNIT,
    WordClass.EACH, WordClass.RANK,
)  # fmt: skip

_BOUNDS: Final = (WordClass.ABOVE, WordClass.BELOW, WordClass.LIMIT, WordClass.EXACTLY)


class Part(StrEnum):
    """What a unit is."""

    NOUN = "noun"
    COLUMN = "column"
    REPORT = "report"
    VALUE = "value"
    FLAG = "flag"
    TIME = "time"
    AMOUNT = "amount"
    IDENTITY = "identity"
    CUE = "cue"
    WORD = "word"
    """a word of general English with a known part: a superlative, a count, a comparison"""
    FIXED = "fixed"
    """anything else; nothing may move across it"""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit. `text` is all of it that must be the same; `slot` is what may be another.

    `attributes` are those, as (entity, name), that a column names or a value or flag belongs to.
    `settled`: its words have no other use, so that it is the same wherever it stands.
    """

    part: Part
    text: str
    slot: Slot | None = None
    attributes: frozenset[tuple[str, str]] = frozenset()
    settled: bool = True


def is_superlative(mention: Mention) -> bool:
    """Whether it asks for the one or the few that have most or least of something."""
    return mention.does(*_SUPERLATIVES) and not mention.readings


def _first_word(mention: Mention) -> str:
    return next(iter(fold(mention.text).split()), "")  # some marks fold to nothing


class UnitReader:
    """Reads mentions as units, for one catalogue."""

    def __init__(self, catalogue: Catalogue, mentions: Sequence[Mention]) -> None:
        """Hold what is to be read."""
        self._catalogue = catalogue
        self._linker = Linker(catalogue)
        self._mentions = list(mentions)
        nouns = {m.nouns for m in self._mentions if m.nouns}
        only = next(iter(nouns)) if len(nouns) == 1 else ()
        self.entity = only[0] if len(only) == 1 else None
        self._several = len(nouns) > 1
        # "which author has the most" asks for one, "which authors" for some
        self._numbered = any(is_superlative(mention) for mention in self._mentions)

    def units(self) -> list[Unit]:
        """Return the units, in the order of the words."""
        return list(self._units())

    def _units(self) -> Iterator[Unit]:
        opened = asked = tied = False
        mentions = self._mentions[: self._closing()]
        for mention, following in zip(mentions, [*mentions[1:], None], strict=False):
            if not (opened or asked) and _first_word(mention) in wording.WHETHER:
                opened = True
                yield Unit(Part.FIXED, "whether")
            asked = asked or wording.said(mention.text) in wording.ASKING
            if not tied and self._is_dropped(mention, following, opened):
                continue
            unit = self._unit(mention)
            if unit.text == "," and not opened:
                continue
            opened = opened or unit.part is not Part.TIME
            # "the 3 heaviest" and "over 5 t" are one expression: nothing is overheard inside
            tied = unit.part is Part.AMOUNT or is_superlative(mention) or mention.does(*_BOUNDS)
            yield unit

    def _closing(self) -> int:
        """Return the index behind the last mention that is neither politeness nor a mark."""
        end = len(self._mentions)
        while end and (self._is_polite(self._mentions[end - 1]) or self._ends(end - 1)):
            end -= 1
        return end

    def _ends(self, at: int) -> bool:
        return (
            self._mentions[at].does(WordClass.STOP, WordClass.COMMA)
            and not self._mentions[at].readings
        )

    def _is_polite(self, mention: Mention) -> bool:
        fits = wording.said(mention.text) in wording.POLITE
        return fits and mention.does(WordClass.FILLER) and not mention.readings

    def _is_dropped(self, mention: Mention, following: Mention | None, opened: bool) -> bool:
        if mention.readings or not mention.classes:
            return False
        phrase = wording.said(mention.text)
        if phrase in wording.WEIGHTLESS and mention.does(WordClass.FILLER):
            # of several things, "the loans" are those of what was spoken of before
            defined = phrase == "the" and following is not None and following.nouns
            return not (opened and self._several and defined)
        if not opened:
            opening = (wording.BEING, wording.EXISTING, wording.ASKING, wording.SHOWING)
            return any(phrase in each for each in opening) or self._is_polite(mention)
        if self._several or (following is not None and following.nouns):
            return False  # "were there" may tell what a time behind it belongs to
        if phrase in wording.RELATIVE:
            return not self._numbered
        return phrase in wording.BEING or phrase in wording.EXISTING

    def _unit(self, mention: Mention) -> Unit:
        place = Place(mention.text, mention.words)
        match mention.what:
            case Time(time):
                sides = "".join("x" if side is None else "d" for side in time.range)
                days = Days(place, time.range, time.reading, time.ambiguous)
                return Unit(Part.TIME, f"time:{sides}", days)
            case Number(value, unit):
                dimension, factor = UNITS.get(unit, (unit, 1.0)) if unit else (None, 1.0)
                amount = Amount(place, value, round(value * factor, 9), dimension)
                return Unit(Part.AMOUNT, f"amount:{dimension}", amount)
            case Code(text):
                return self._code(place, text)
            case Name(text) | Quoted(text):
                return Unit(Part.FIXED, f"name:{text}")
            case Unknown(text):
                return Unit(Part.FIXED, f"word:{fold(text)}")
            case Imperative(text):
                return Unit(Part.FIXED, f"order:{fold(text)}")
            case _:
                return self._phrase(mention, place)

    def _code(self, place: Place, text: str) -> Unit:
        owner = self._linker.owner(text)
        if owner is None:
            return Unit(Part.FIXED, f"code:{text}")
        return Unit(Part.IDENTITY, f"identity:{owner}", Identity(place, text, owner))

    def _phrase(self, mention: Mention, place: Place) -> Unit:
        own = [value for value in mention.values if value.entity == self.entity]
        number = "s" if self._numbered and wording.is_plural(mention) else ""
        if mention.nouns and not own:
            # "stock" may be a book, and what a library holds
            own_word = f" {wording.said(mention.text)}" if self._is_column_too(mention) else ""
            return Unit(Part.NOUN, f"noun:{'|'.join(sorted(mention.nouns))}{number}{own_word}")
        if mention.values:
            unit = _value(own or list(mention.values), list(mention.values), place)
            return replace(unit, text=f"{unit.text}?", settled=False) if mention.classes else unit
        if mention.reports:
            return Unit(Part.REPORT, f"report:{'|'.join(sorted(mention.reports))}")
        phrase = wording.canonical(wording.said(mention.text))
        if mention.columns:
            named = {(c.entity, c.attribute) for c in mention.columns}
            here = frozenset(each for each in named if each[0] == self.entity) or frozenset(named)
            settled = not wording.is_plural(mention)  # "types" may be asked for themselves
            return Unit(Part.COLUMN, f"column:{_listed(here)}{number}", None, here, settled)
        if mention.verbs:
            return Unit(Part.FIXED, f"word:{fold(mention.text)}")
        if mention.cue is not None and not mention.does(WordClass.LINK, WordClass.BY):
            return Unit(Part.CUE, phrase)
        return Unit(Part.WORD if mention.does(*_WEAK) else Part.FIXED, phrase)

    def _is_column_too(self, mention: Mention) -> bool:
        attributes = (self._catalogue.attribute(column) for column in mention.columns)
        return any(attribute.shape.ref is None for attribute in attributes)


def _value(here: list[ValueOf], everywhere: list[ValueOf], place: Place) -> Unit:
    attributes = frozenset((v.entity, v.attribute) for v in here)
    values = {v.value for v in here if isinstance(v.value, str)}
    if len(values) == 1 and all(isinstance(v.value, str) for v in here):
        value = next(iter(values))
        said = frozenset((v.entity, v.attribute) for v in everywhere if v.value == value)
        slot = Value(place, value, attributes, said)
        return Unit(Part.VALUE, f"value:{_listed(attributes)}", slot, attributes)
    shown = sorted(f"{v.entity}.{v.attribute}={v.value!r}" for v in here)
    return Unit(Part.FLAG, f"flag:{'|'.join(shown)}", None, attributes)


def narrowed(unit: Unit, attributes: frozenset[tuple[str, str]]) -> Unit:
    """Return the value `unit`, meant of `attributes` only."""
    if not isinstance(unit.slot, Value):
        return unit
    slot = replace(unit.slot, attributes=attributes)
    return Unit(Part.VALUE, f"value:{_listed(attributes)}", slot, attributes)


def _listed(attributes: frozenset[tuple[str, str]]) -> str:
    return "|".join(sorted(".".join(each) for each in attributes))
