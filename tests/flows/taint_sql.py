"""Statements of a small part of SQL, with what is followed in them value by value.

Each is made as text, for the lineage, and as a function over tables whose values carry how far they
are to be trusted, for the interpreter of the tests.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from toolplan.policy import Trust

Row: TypeAlias = Mapping[str, Trust]
Tables: TypeAlias = Mapping[str, Sequence[Row]]

COLUMNS: Final = {"a": ("iban", "due", "note"), "m": ("id", "sender", "text")}
_SAID: Final = Trust.SAID


class Cell(NamedTuple):
    """A value of the result: how far it is to be trusted, and by what it was chosen."""

    trust: Trust
    by: Trust = _SAID

    @property
    def label(self) -> Trust:
        """How far it is to be trusted as the one that was chosen."""
        return self.trust if self.by >= Trust.TRUSTED else min(self.trust, Trust.LISTED)


@dataclass
class Expression:
    """One column of a SELECT: its text, the columns in it, and those that only choose."""

    text: str
    made_of: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    is_total: bool = False

    def cell(self, row: Row, rows: Sequence[Row], by: Trust) -> Cell:
        """Return its value in `row`; a total is made of all the rows that `by` let through."""
        read = [*rows] if self.is_total else [row]
        made_of = min((each[name] for each in read for name in self.made_of), default=_SAID)
        chosen = min((each[name] for each in read for name in self.by), default=_SAID)
        if self.is_total:
            return Cell(min(made_of, chosen, by))
        return Cell(made_of, min(by, chosen))


@dataclass
class Select:
    """`SELECT r, s FROM table WHERE column ORDER BY column`."""

    table: str
    columns: tuple[Expression, Expression]
    where: str = ""
    order: str = ""
    together: list[set[str]] = field(default_factory=list[set[str]])

    @property
    def text(self) -> str:
        """The statement."""
        one, two = self.columns
        where = f" WHERE {self.where} <> 'q'" if self.where else ""
        order = f" ORDER BY {self.order}" if self.order else ""
        return f"SELECT {one.text} AS r, {two.text} AS s FROM {self.table}{where}{order}"

    def rows(self, tables: Tables) -> list[tuple[Cell, Cell]]:
        """Return the rows of its result."""
        given = tables[self.table]
        by = min(
            (row[name] for row in given for name in (self.where, self.order) if name), default=_SAID
        )
        found: list[tuple[Cell, Cell]] = []
        for row in given[:1] if self.columns[0].is_total else given:
            one, two = (
                each.cell(row, given, min(by, self._read_by(each, row))) for each in self.columns
            )
            found.append((one, two))
        return found

    def _read_by(self, each: Expression, row: Row) -> Trust:
        """Return what decides how the columns of an expression are read: as dates, or as text."""
        names = {*each.made_of, *each.by}
        groups = (group for group in self.together if group & names)
        return min((row[name] for group in groups for name in group), default=_SAID)


def statement(chance: random.Random) -> Select:
    """Return a random statement."""
    table = chance.choice(["a", "a", "m"])
    names = COLUMNS[table]
    if chance.random() < 0.15:
        columns = (_total(chance, names), _total(chance, names))
        return Select(table, columns, chance.choice(["", "", "", *names]))
    columns = (_expression(chance, names), _expression(chance, names))
    where, order = chance.choice(["", "", *names]), chance.choice(["", "", *names])
    together = _joined({*each.made_of} for each in columns)
    return Select(table, columns, where, order, together)


def _expression(chance: random.Random, names: Sequence[str]) -> Expression:
    one, two, three = (chance.choice(names) for _ in range(3))
    return chance.choice(
        [
            Expression(one, (one,)),
            Expression(one, (one,)),
            Expression(f"'x' || {one}", (one,)),
            Expression("'c'"),
            Expression(f"{one} || {two}", (one, two)),
            Expression(f"CASE WHEN {three} < 'm' THEN {one} ELSE {two} END", (one, two), (three,)),
            Expression(f"CASE WHEN {three} < 'm' THEN 'y' ELSE 'n' END", (), (three,)),
        ]
    )


def _total(chance: random.Random, names: Sequence[str]) -> Expression:
    name = chance.choice(names)
    return Expression(f"max({name})", (name,), is_total=True)


def _joined(groups: Iterable[set[str]]) -> list[set[str]]:
    """Return the columns that stand in one expression; where two meet, both count as one."""
    found: list[set[str]] = []
    for group in groups:
        apart = [each for each in found if not each & group]
        for each in found:
            if each & group:
                group |= each
        found = [*apart, group]
    return [each for each in found if len(each) > 1]
