"""Meanings: questions as plain values.

A set of things is an entity and conditions; a question does something with sets. Meanings are
compared and kept in sets, so all of them are tuples.
"""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple, TypeAlias, cast

from toolplan.dates import DateRange
from toolplan_offline.lexicon import Val, Word


class Cond(NamedTuple):
    """A condition; `op` is one of = != >= <= > < in each all "not in", or "is" without a value."""

    field: str
    op: str
    value: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """The value, or the values of a list."""
        return (
            cast("tuple[Any, ...]", self.value) if self.value.__class__ is tuple else (self.value,)
        )


class Link(NamedTuple):
    """That a thing belongs to one of another set, or, negated, to none."""

    to: Set
    negated: bool = False


class Set(NamedTuple):
    """Things of an entity; `hole`: a word such as "them" stands for it, of any kind if ""."""

    entity: str
    parts: frozenset[Cond | Link] = frozenset()
    hole: bool = False
    limit: int | None = None

    @property
    def conditions(self) -> list[Cond]:
        """The conditions, in an order that is always the same."""
        found = (p for p in self.parts if isinstance(p, Cond))
        return sorted(found, key=lambda c: (c.field, c.op[0] == "<", str(c)))

    @property
    def links(self) -> list[Link]:
        """The links, in an order that is always the same."""
        return sorted((p for p in self.parts if isinstance(p, Link)), key=str)

    @property
    def is_record(self) -> bool:
        """Whether the set is named by identities alone."""
        return self.is_one and self.conditions[0].field == "id"

    @property
    def is_one(self) -> bool:
        """Whether the set is named by identities, or by a name of its own."""
        conditions = self.conditions
        name = conditions[0].field if len(self.parts) == len(conditions) == 1 else ""
        named = name in ("id", "name", "title", f"{self.entity}_name")
        return named and conditions[0].op not in ("!=", "not in", "is")

    @property
    def has_hole(self) -> bool:
        """Whether a word in it stands for something that was said before."""
        return self.hole or any(link.to.has_hole for link in self.links)

    def linked(self, to: Set, negated: bool = False) -> Set:
        """Return the set with one more link."""
        return self._replace(parts=self.parts | {Link(to, negated)})

    def all(self) -> list[Set]:
        """Return the set and those that it is linked to, the outer ones first."""
        return [self, *(inner for link in self.links for inner in link.to.all())]


class NP(NamedTuple):
    """A set while it is read.

    Attributes:
        tail: the things that a phrase at its end would be nearest to.
        one: whether it is a bare noun in the singular.
        last: the phrase that came last behind the noun.
        closed: whether nothing can stand before it.
        had: whether the tail hangs on "with": a date behind it can belong to either.
        kinds: whether the noun also names the values of a field, as "substances" do.
    """

    set: Set
    tail: Any = None
    one: bool = False
    last: Any = None
    had: bool = False
    closed: bool = False
    kinds: bool = False


class When(NamedTuple):
    """A period, both days included; `days` of "the last 14 days"; `field`: the date it is about.

    `ahead`: the days if the future is meant; None where the question is about the past.
    """

    lo: date | None
    hi: date | None
    days: int = 0
    field: Word | None = None
    ahead: DateRange | None = None


class Num(NamedTuple):
    """An amount; `words` are the fields that it may be about, `unit` the units that it may have."""

    words: frozenset[Word]
    op: str
    value: float
    unit: frozenset[Word] = frozenset()


class To(NamedTuple):
    """That a thing belongs to another: "of" ties both ways, "in" to the whole, "with" back.

    `role`: the kind of thing for which the tie has a name, as "led by" for tours.
    """

    np: NP
    negated: bool = False
    word: str = ""
    role: str = ""


class Not(NamedTuple):
    """A negated meaning."""

    of: Any


class Both(NamedTuple):
    """Two modifiers, joined by `word`: "and" or "or"."""

    one: Any
    other: Any
    word: str

    def values(self) -> list[Val]:
        """Return the values that it joins; an empty list where it joins anything else."""
        sides = [
            side.values() if isinstance(side, Both) else [side] if isinstance(side, Val) else []
            for side in (self.one, self.other)
        ]
        return sides[0] + sides[1] if sides[0] and sides[1] else []


class Limit(NamedTuple):
    """Maximum number of things."""

    n: int


class Free(NamedTuple):
    """A name that is in no schema and has no cue."""

    text: str


class Show(NamedTuple):
    """Show sets; `post`: a phrase follows the last noun; `field`: the requested number, if any."""

    sets: tuple[Set, ...]
    post: bool = True
    field: Word | None = None


class Agg(NamedTuple):
    """A figure of a set.

    Attributes:
        fn: count, total, different, sum, avg, min, max, median or rate.
        field: the field measured, or counted once for each value; "" for count. Of a rate, that of
            `cond` where its things are not sure: then a period alone restricts them.
        by: the groups: (entity, field), or ("time", unit).
        said: whether the question names the things, or only the field measured.
        cond: the condition whose share a rate is.
        order, top: the groups with the most or the fewest.
        having: (operator, number): the groups with more than 3.
        unit: the unit of the figure, and its size in the field's own unit.
    """

    fn: str
    field: str
    set: Set
    by: tuple[tuple[str, str], ...] = ()
    said: bool = True
    cond: Cond | None = None
    order: str = ""
    top: int | None = None
    having: tuple[str, int] | None = None
    unit: tuple[str, float] | None = None


class Rank(NamedTuple):
    """The rows of a set, the greatest or the least first; `of`: by the share of that field."""

    set: Set
    field: str
    order: str
    top: int | None
    of: str = ""


class Call(NamedTuple):
    """The call of a report, for a period."""

    name: str
    when: When | None = None


Meaning: TypeAlias = Show | Agg | Rank | Call


def sets_of(said: Meaning | None) -> list[Set]:
    """Return the sets that a question is about."""
    match said:
        case Show(sets=sets):
            return [*sets]
        case Agg(set=one) | Rank(set=one):
            return [one]
        case _:
            return []
