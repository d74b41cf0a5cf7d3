"""Rows chosen and ordered by a computing step, where no argument of a listing tool can say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolplan.path import Json
from toolplan.plan import Literal, Value, object_
from toolplan.planners.grounded.build.drafts import Argument, Source
from toolplan.planners.grounded.catalogue.kinds import Kind
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.parse.conditions import Condition, Share, Unlinked, identifier, sql
from toolplan.planners.grounded.parse.requests import Cut


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows of `kind`: those for which all `conditions` hold, and of them the `cut`."""

    kind: Kind
    conditions: tuple[Condition, ...]
    cut: Cut | None


def selection_arguments(
    chosen: Selection, source: Source, others: Mapping[str, Source], reason: Json
) -> dict[str, Argument]:
    """Return the arguments of the computing step that chooses from `source`.

    `others` are further tables, by name, that the conditions speak of.
    """
    table = chosen.kind.plural
    parts = ["SELECT * FROM", identifier(table)]
    used = columns_read(chosen.conditions)
    if chosen.conditions:
        parts.append("WHERE " + " AND ".join(sql(each) for each in chosen.conditions))
    moment = chosen.kind.moment
    if chosen.cut is not None and moment is not None and moment.column is not None:
        if chosen.cut.newest or chosen.cut.oldest:
            direction = "DESC" if chosen.cut.newest else "ASC"
            parts.append(f"ORDER BY {identifier(moment.column)} {direction}")
            used.append(moment.column)
        if chosen.cut.count is not None:
            parts.append(f"LIMIT {chosen.cut.count}")
    return computing(" ".join(parts), {table: source, **others}, used, reason)


def columns_read(conditions: Iterable[Condition]) -> list[str]:
    """Return the columns that `conditions` read."""
    found: list[str] = []
    for condition in conditions:
        found.append(condition.column)
        match condition:
            case Unlinked(its=other) | Share(whole=other):
                found.append(other)
            case _:
                pass
    return found


def computing(
    statement: str, tables: Mapping[str, Source], used: Iterable[str], reason: Json
) -> dict[str, Argument]:
    """Return the arguments of the tool that computes.

    `used` are columns that the statement reads; their types are declared, so that it can be run on
    no rows at all.
    """
    wanted = set(used)
    rows: tuple[tuple[str, Value], ...] = tuple((n, s.rows()) for n, s in tables.items())
    columns: dict[str, Json] = {}
    for name, source in tables.items():
        declared: dict[str, Json] = {
            column: kind
            for column, shape in source.columns.items()
            if column in wanted and (kind := column_type(shape)) is not None
        }
        if declared:
            columns[name] = declared
    steps: list[Json] = [source.step for source in tables.values()]
    read: Json = {"ref": steps[0]} if len(steps) == 1 else {"ref": steps}
    arguments = {
        "sql": Argument(Literal(statement), reason),
        "tables": Argument(object_(rows), read),
    }
    if columns:
        arguments["columns"] = Argument(Literal(columns), {"default": "schema"})
    return arguments


def column_type(shape: Shape) -> str | None:
    """Return the word for the type of a column, None where it has no simple one."""
    if shape.takes_many and not shape.takes_one:
        return None
    if shape.format == "date":
        return "date"
    if shape.format == "date-time":
        return "date-time"
    if len(shape.types) == 1 and next(iter(shape.types)) in (
        "string",
        "boolean",
        "integer",
        "number",
    ):
        return next(iter(shape.types))
    return None
