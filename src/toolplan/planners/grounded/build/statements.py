"""A SELECT while its parts are gathered, and its text."""

from __future__ import annotations

from msgspec import Struct, field

from toolplan.planners.grounded.build.drafts import Source
from toolplan.planners.grounded.build.selection import first_places
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.words import UNITS
from toolplan.planners.grounded.parse.conditions import identifier, literal, qualified
from toolplan.planners.grounded.parse.requests import ByPeriod, Computation


class Statement(Struct):
    """The parts of a SELECT while they are gathered."""

    table: str
    tables: dict[str, Source]
    groups: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    joins: list[str] = field(default_factory=list[str])
    where: list[str] = field(default_factory=list[str])
    order: list[str] = field(default_factory=list[str])
    """what groups are ordered by, where it is not their figure"""
    keys: list[str] = field(default_factory=list[str])
    """expressions that groups are distinguished and ordered by, and that are not shown"""
    used: set[str] = field(default_factory=set[str])

    def column(self, name: str, table: str | None = None) -> str:
        """Return the name of a column, with its table only where there are several."""
        self.used.add(name)
        return qualified(name, (table or self.table) if len(self.tables) > 1 else "")


def grouped(
    statement: Statement,
    computation: Computation,
    measured: tuple[str, str],
    source: str,
    limit: int | None,
) -> str:
    """Return the SELECT of one measure for each group, or for all rows where there is none.

    With `limit`, that many of the first group are given for each of the others: "the commonest
    colour per town".
    """
    expression, name = measured
    measure = f"{expression} AS {identifier(name)}"
    if not statement.groups:
        return f"SELECT {measure} {source}"
    columns = [
        column if column.endswith(identifier(label)) else f"{column} AS {identifier(label)}"
        for column, label in statement.groups
    ]
    expressions = [*(_key(statement, *group) for group in statement.groups), *statement.keys]
    direction = "ASC" if computation.descending is False else "DESC"
    ranks = limit is not None and computation.descending is not None
    within = [column for column, _ in statement.groups[1:]] if ranks else []
    cut = first_places(limit, f"{expression} {direction}", within)
    by_period = any(isinstance(group, ByPeriod) for group in computation.groups)
    labels = [identifier(label) for _, label in statement.groups]
    if computation.descending is None and statement.order:
        order = statement.order
    elif computation.descending is None and by_period:
        order = statement.keys or labels
    else:
        shown = expressions[: len(statement.groups)]
        first = shown[1:] if within else []
        order = [*first, f"{identifier(name)} {direction}", *(shown[:1] if within else shown)]
    least = computation.least
    having = f" HAVING {expression} {least.operator} {literal(least.value)}" if least else ""
    return (
        f"SELECT {', '.join([*columns, measure])} {source}"
        f" GROUP BY {', '.join(expressions)}{having}{cut} ORDER BY {', '.join(order)}"
    )


def in_unit(expression: str, shape: Shape, unit: str) -> str:
    """Return `expression` in the unit that was asked for."""
    factor = UNITS[words.key(unit)][1] / UNITS[words.key(shape.unit or "")][1]
    whole = int(factor) if factor == int(factor) else factor
    return expression if factor == 1 else f"{expression} / {literal(whole)}"


def _key(statement: Statement, column: str, label: str) -> str:
    """Return what to group by: a computed column goes by its label, where nothing else has it."""
    taken = any(label in source.columns for source in statement.tables.values())
    return identifier(label) if column.endswith((")", " END")) and not taken else column
