"""The meaning of names in a statement: relations with columns, and the lineage of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.path import EVERY, Path
from toolplan.schema.tool import Lineage
from toolplan_sql._statement import Node, texts_at

Paths: TypeAlias = frozenset[Path]

NOTHING: Paths = frozenset()


class Read(Lineage, frozen=True, kw_only=True):
    """The lineage of an expression.

    `compared` are the columns that are compared where it is, as they stand in the tables.
    `over_rows`: it computes over many rows, so that those that pick these are among its `values`;
    `made_of` are the others. `no_columns`: it counts rows of any content.
    """

    compared: Paths = frozenset()
    made_of: Paths = frozenset()
    over_rows: bool = False
    no_columns: bool = False

    @property
    def all(self) -> Paths:
        return self.values | self.picks


def merged(parts: Iterable[Lineage]) -> Read:
    listed = list(parts)
    reads = [each for each in listed if isinstance(each, Read)]
    return Read(
        union(each.values for each in listed),
        union(each.picks for each in listed),
        compared=union(each.compared for each in reads),
        made_of=union(getattr(each, "made_of", NOTHING) or each.values for each in listed),
        over_rows=any(each.over_rows for each in reads),
        no_columns=any(each.no_columns for each in reads),
    )


def union(parts: Iterable[Paths]) -> Paths:
    return NOTHING.union(*parts)


Item: TypeAlias = tuple[str | None, Lineage]
"""A column of a relation; one without a name may have any name."""


class Relation(Struct, frozen=True):
    """Rows with columns.

    `items` are the columns in order; `base` is the table that has more of them than these. `rows`
    decides which rows there are, `membership` too where the rows are those of whole tables.
    `is_table`: it is a table as it is given.
    """

    alias: str
    items: tuple[Item, ...] = ()
    base: str | None = None
    rows: Paths = NOTHING
    membership: Paths = NOTHING
    is_table: bool = False

    @property
    def is_blurred(self) -> bool:
        """Whether a column of another name may be made of anything that the relation holds."""
        names = {name for name, _ in self.items}
        return None in names or len(names) < len(self.items)  # of two, the database renames one

    @property
    def whole(self) -> Read:
        own = NOTHING if self.base is None else frozenset[Path]({("tables", self.base)})
        columns = (each.values | each.picks for _, each in self.items)
        every = own.union(self.rows, self.membership, *columns)
        return Read(every, compared=every if self.is_table else NOTHING)

    def column(self, name: str) -> Read | None:
        """Return the lineage of a column, None for an unknown name."""
        folded = name.casefold()
        found = [each for key, each in self.items if key == folded]
        own = (("tables", self.base, EVERY), folded)
        is_known = any(
            [(path[:3], str(path[-1]).casefold()) for path in each.values] == [own]
            for each in found
        )
        if self.base is not None and not is_known:
            found.append(Lineage(frozenset({("tables", self.base, EVERY, name)}), self.rows))
        if not found and self.is_blurred:
            found.append(self.whole)
        if not found:
            return None
        return self.read(*found)

    def read(self, *columns: Lineage) -> Read:
        """Return the lineage of what reads these columns of it."""
        read = merged(columns)
        return replace(read, compared=read.values) if self.is_table else read

    def renamed(self, alias: str, names: list[str]) -> Relation:
        """Return it under another name, its first columns with other `names` if there are any."""
        if not names:
            return replace(self, alias=alias)
        if self.base is not None or self.is_blurred or len(names) > len(self.items):
            rows = self.whole.values
            return replace(self, alias=alias, items=((None, self.whole),), base=None, rows=rows)
        given = zip(map(str.casefold, names), (each for _, each in self.items), strict=False)
        return replace(self, alias=alias, items=(*given, *self.items[len(names) :]))


class Scope(Struct, frozen=True):
    """The meaning of names at a place of the statement."""

    relations: tuple[Relation, ...] = ()
    aliases: Mapping[str, Lineage] = field(default_factory=dict[str, Lineage])
    outer: Scope | None = None
    loose: frozenset[str] = frozenset()
    ctes: Mapping[str, Relation] = field(default_factory=dict[str, Relation])

    def within(self, relations: tuple[Relation, ...]) -> Scope:
        """Return the scope of a query inside this one, over `relations`."""
        return Scope(relations, outer=self, ctes=self.ctes)

    def candidates(self, names: list[str]) -> tuple[list[Lineage], list[Lineage]]:
        """Return the certain meanings of a name in the relations, and the possible ones."""
        certain: list[Lineage] = []
        possible: list[Lineage] = []
        for relation in self.relations:
            for at, name in enumerate(names):
                if name.casefold() != relation.alias:
                    continue
                if at + 1 == len(names):
                    possible.append(relation.whole)  # a whole row
                elif (column := relation.column(names[at + 1])) is not None:
                    possible.append(column)
                    if at == 0 and names[1].casefold() in dict(relation.items):
                        certain.append(column)
            if names and (column := relation.column(names[0])) is not None:
                possible.append(column)
        return certain, possible

    def is_alone(self, item: Node) -> bool:
        """Return whether an item of a list is a column, or `*`, and nothing else."""
        names = [name.casefold() for name in texts_at(item, "column_names")]
        aliases = {each.alias for each in self.relations}
        is_column = len(names) == 1 and names[0] not in aliases
        is_column = is_column or (len(names) == 2 and names[0] in aliases)
        if item.get("class") == "STAR":
            return not any(map(item.get, ("replace_list", "rename_list", "columns")))
        return item.get("class") == "COLUMN_REF" and is_column
