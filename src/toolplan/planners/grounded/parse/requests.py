"""What a question asks for, in terms of things, not yet of tools.

Everything keeps the mentions that it was read from: they are its provenance, and what no request
has kept in the end is what was not understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Literal, TypeAlias

from msgspec import Struct, field

from toolplan.planners.grounded.catalogue.kinds import ColumnOf, ValueOf
from toolplan.planners.grounded.parse.mentions import Mention

Operator: TypeAlias = Literal["=", ">=", "<="]


class Modifier(Struct, frozen=True):
    """Something said of a thing.

    `cue` is the word before it, as keys; `column` names the attribute, where the question does;
    `alternatives` are values coordinated with it: "a and b"; `before` says that it stands before
    the noun.
    """

    mention: Mention
    cue: str | None = None
    column: Mention | None = None
    operator: Operator = "="
    upper: Mention | None = None
    negated: bool = False
    alternatives: tuple[Mention, ...] = ()
    either: bool = False
    before: bool = False
    evidence: tuple[Mention, ...] = ()

    @property
    def values(self) -> tuple[Mention, ...]:
        """The mention and its alternatives."""
        return (self.mention, *self.alternatives)

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """All that it was read from."""
        return tuple(sorted({*self.values, *self.evidence}, key=lambda each: each.first))


class Cut(Struct, frozen=True):
    """How many of the rows are wanted: the first ones of the order, or the last."""

    count: int | None
    newest: bool
    oldest: bool
    mentions: tuple[Mention, ...]


class Link(Struct, frozen=True):
    """Another thing that it belongs to. `loose`: only order or a pronoun says so."""

    to: ThingRequest
    cue: str | None
    negated: bool
    loose: bool
    mentions: tuple[Mention, ...]


class ThingRequest(Struct, eq=False):
    """One thing that is asked for, while a question is being read."""

    entity: str
    noun: Mention | None
    modifiers: list[Modifier] = field(default_factory=list[Modifier])
    links: list[Link] = field(default_factory=list[Link])
    cut: Cut | None = None
    coordinated: bool = False
    """stands beside another thing, so that what follows may be said of both"""
    nested: bool = False
    """only selects which other things are meant"""

    @property
    def mentions(self) -> Iterator[Mention]:
        """All that it was read from, without what it is linked to."""
        if self.noun is not None:
            yield self.noun
        for modifier in self.modifiers:
            yield from modifier.mentions
        for link in self.links:
            yield from link.mentions
        if self.cut is not None:
            yield from self.cut.mentions


class Count(Struct, frozen=True):
    """How many rows."""


class Statistic(Struct, frozen=True):
    """A statistic of a number: `function` is SQL's name of it; `unit` the one that is wanted."""

    function: str
    columns: tuple[ColumnOf, ...]
    unit: str | None = None


class Rate(Struct, frozen=True):
    """The share of rows with one of the values `having`; if empty, with what is said last."""

    having: tuple[ValueOf, ...]


class Listed(Struct, frozen=True):
    """The rows themselves, ordered by a column, or by date if there is none."""

    columns: tuple[ColumnOf, ...]


class Distinct(Struct, frozen=True):
    """Each value that occurs."""


Measure: TypeAlias = Count | Statistic | Rate | Listed | Distinct


class ByColumn(Struct, frozen=True):
    """Groups of equal values; `columns` are the readings of what was said, `of` its noun's kind."""

    columns: tuple[ColumnOf, ...]
    entities: tuple[str, ...]
    said: Mention


class ByPeriod(Struct, frozen=True):
    """Groups of days, weeks, months …; None where only "over time" was said."""

    period: str | None
    said: Mention


class Span(Struct, frozen=True):
    """Days from `first` to `last`, both included, under the words that named them."""

    label: str
    first: date
    last: date


class BySpans(Struct, frozen=True):
    """Groups of times that are set side by side."""

    spans: tuple[Span, ...]


Group: TypeAlias = ByColumn | ByPeriod | BySpans


class Least(Struct, frozen=True):
    """Only groups whose figure compares so with `value`; `operator` is SQL's."""

    operator: str
    value: float


class Computation(Struct):
    """What is to be computed from rows."""

    measure: Measure | None = None
    groups: list[Group] = field(default_factory=list[Group])
    descending: bool | None = None
    count: int | None = None
    single: bool = False
    least: Least | None = None
    is_none_of: bool = False
    """the values that none of these rows has: "which towns did not send boxes" """
    predicate: int | None = None
    """where the verb begins behind which stands what a share is of: "what share of a is b" """
    notes: list[str] = field(default_factory=list[str])
    mentions: list[Mention] = field(default_factory=list[Mention])


class ParsedQuestion(Struct):
    """All that a question asks for."""

    requests: list[ThingRequest] = field(default_factory=list[ThingRequest])
    computation: Computation | None = None
    unexplained: list[Mention] = field(default_factory=list[Mention])
    asked: list[Mention] = field(default_factory=list[Mention])
    """columns named without a value, and "who", "where": what the asker wants to see"""
    again: list[Mention] = field(default_factory=list[Mention])
    """words that only point to a thing named before: "those boxes" """
    problem: str | None = None
