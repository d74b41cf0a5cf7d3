"""The parts of a question that may be other ones: times, values, identities and amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolplan.planners.grounded.dates import DateRange


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands in the question: its text, and its first and last word by index."""

    text: str
    words: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Days:
    """A time, read against the day of asking. `reading` tells the user how."""

    place: Place
    range: DateRange
    reading: str
    ambiguous: bool

    @property
    def content(self) -> str:
        """What it says, as text that is equal for equal times."""
        return f"{self.range.start}/{self.range.end}"


@dataclass(frozen=True, slots=True)
class Value:
    """A value that tools' schemas know, with the attributes (entity, name) that have it."""

    place: Place
    value: str
    attributes: frozenset[tuple[str, str]]
    everywhere: frozenset[tuple[str, str]]

    @property
    def content(self) -> str:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity of a thing of the kind `entity`."""

    place: Place
    code: str
    entity: str

    @property
    def content(self) -> str:
        """The identity."""
        return self.code


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, as it was said. With a unit, `base` is it in the base unit of `dimension`."""

    place: Place
    said: float
    base: float
    dimension: str | None

    @property
    def content(self) -> str:
        """The number in the base unit."""
        return repr(self.base)


Slot: TypeAlias = Days | Value | Identity | Amount
