"""Relations of a statement: rows with columns, each column with its lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.path import EVERY, Path
from toolplan.schema.tool import Lineage

Paths: TypeAlias = frozenset[Path]

NOTHING: Final[Paths] = frozenset()


def union(parts: Iterable[Paths]) -> Paths:
    return NOTHING.union(*parts)


def merged(lineages: Iterable[Lineage]) -> Lineage:
    listed = list(lineages)
    return Lineage(union(each.values for each in listed), union(each.picks for each in listed))


class Item(Struct, frozen=True):
    """A column of a relation; a column without a name has one of the database's making."""

    name: str | None
    lineage: Lineage


class Relation(Struct, frozen=True):
    """Rows with columns.

    `items` are the columns in order; `base` is the table that has more of them than these.
    `is_blurred`: a column of another name may be made of any of `everything`. `rows` decides which
    rows there are, `membership` too where the rows are those of whole tables.
    """

    alias: str
    items: tuple[Item, ...] = ()
    base: str | None = None
    is_blurred: bool = False
    rows: Paths = NOTHING
    membership: Paths = NOTHING

    @property
    def everything(self) -> Paths:
        own = frozenset({("tables", self.base)}) if self.base is not None else NOTHING
        values = (each.lineage.values | each.lineage.picks for each in self.items)
        return own.union(self.rows, self.membership, *values)

    @property
    def whole(self) -> Lineage:
        """The lineage of something that may be made of all of it."""
        return Lineage(self.everything)

    @property
    def is_open(self) -> bool:
        return self.base is not None or self.is_blurred

    def column(self, name: str) -> Lineage | None:
        """Return the lineage of a column, None where there is none of that name."""
        folded = name.casefold()
        found = [each.lineage for each in self.items if each.name == folded]
        if self.base is not None and not any(self._is_own(each, folded) for each in found):
            found.append(Lineage(frozenset({("tables", self.base, EVERY, name)}), self.rows))
        if not found and self.is_blurred:
            found.append(self.whole)
        return merged(found) if found else None

    def has(self, name: str) -> bool:
        """Return whether it certainly has a column of this name."""
        return any(each.name == name.casefold() for each in self.items)

    def _is_own(self, lineage: Lineage, folded: str) -> bool:
        """Return whether this is the column of that name of `base` itself."""
        return any(
            path[1] == self.base and str(path[-1]).casefold() == folded
            for path in lineage.values
            if len(path) == len(("tables", self.base, EVERY, folded)) and len(lineage.values) == 1
        )


class Scope(Struct, frozen=True):
    """What names stand for at a place of the statement."""

    relations: tuple[Relation, ...] = ()
    aliases: Mapping[str, Read] = field(default_factory=dict[str, "Read"])
    outer: Scope | None = None
    loose: frozenset[str] = frozenset()
    ctes: Mapping[str, Relation] = field(default_factory=dict[str, Relation])

    def within(self, relations: tuple[Relation, ...]) -> Scope:
        """Return the scope of a query inside this one, over `relations`."""
        return Scope(relations, outer=self, ctes=self.ctes)


class Read(Struct, frozen=True):
    """What an expression reads, and what decides which of it.

    `over_rows`: it computes over many rows; `no_columns`: it counts rows, whatever they hold.
    """

    paths: Paths = NOTHING
    picks: Paths = NOTHING
    over_rows: bool = False
    no_columns: bool = False

    @classmethod
    def of(cls, column: Lineage) -> Read:
        """Return what is read where a column is."""
        return cls(column.values, column.picks)

    @property
    def all(self) -> Paths:
        return self.paths | self.picks

    def item(self, name: str | None, rows: Paths, membership: Paths) -> Item:
        """Return the column of a result that the expression gives."""
        if not self.over_rows:
            return Item(name, Lineage(self.paths, self.picks | rows))
        counted = membership if self.no_columns else NOTHING
        return Item(name, Lineage(self.all | rows | counted))


def read_all(reads: Iterable[Read]) -> Read:
    listed = list(reads)
    return Read(
        union(each.paths for each in listed),
        union(each.picks for each in listed),
        any(each.over_rows for each in listed),
        any(each.no_columns for each in listed),
    )


def candidates(relations: Iterable[Relation], names: list[str]) -> tuple[list[Read], list[Read]]:
    """Return what a name certainly means in some relation, and all that it may mean there."""
    certain: list[Read] = []
    possible: list[Read] = []
    for relation in relations:
        for at, name in enumerate(names):
            if name.casefold() != relation.alias:
                continue
            if at + 1 == len(names):
                possible.append(Read.of(relation.whole))  # a whole row
                continue
            if (column := relation.column(names[at + 1])) is not None:
                possible.append(Read.of(column))
                if relation.has(names[at + 1]) and at == 0:
                    certain.append(Read.of(column))
        if names and (column := relation.column(names[0])) is not None:
            possible.append(Read.of(column))
    return certain, possible


def renamed(relation: Relation, alias: str, names: list[str]) -> Relation:
    if not names:
        return replace(relation, alias=alias)
    if relation.is_open or len(names) > len(relation.items):
        items = (Item(None, relation.whole),)
        rows = relation.rows | relation.everything
        return Relation(alias, items, None, True, rows, relation.membership)
    items = (
        *(Item(n.casefold(), i.lineage) for n, i in zip(names, relation.items, strict=False)),
        *relation.items[len(names) :],
    )
    return replace(relation, alias=alias, items=items)


class Couplings:
    """Columns that stand in one expression.

    What the rows of one of them hold may decide how the others are read: as a date or as text.
    """

    def __init__(self) -> None:
        self._found: list[dict[tuple[str, str], Path]] = []

    def add(self, paths: Iterable[Path]) -> None:
        """Note that these columns stand together."""
        columns = {
            (str(path[1]), str(path[-1]).casefold()): path
            for path in paths
            if len(path) > len(("tables", ""))
        }
        if len(columns) < 2:
            return
        apart: list[dict[tuple[str, str], Path]] = []
        for each in self._found:
            if each.keys().isdisjoint(columns):
                apart.append(each)
            else:
                columns |= each
        self._found = [*apart, columns]

    def behind(self, paths: Paths) -> Paths:
        """Return the columns that stand together with any of these."""
        keys = {(str(path[1]), str(path[-1]).casefold()) for path in paths}
        met = (each for each in self._found if not each.keys().isdisjoint(keys))
        return frozenset(path for each in met for path in each.values())


def unspoken(membership: Paths, column: Lineage) -> Paths:
    """Return the tables of which a column reads nothing, though their rows make its rows.

    What is said of `a[*].b` is said of the number of its rows, too.
    """
    spoken = {path[:2] for path in column.values | column.picks if len(path) > len(("tables", ""))}
    return frozenset(path for path in membership if path[:2] not in spoken)
