"""Computing steps: rows selected and ordered where no argument of a listing tool can do it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Literal, Value, object_
from toolplan.planners.grounded.build.drafts import Argument, Source
from toolplan.planners.grounded.catalogue.kinds import Kind
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.conditions import Condition, Linked, Share, identifier, sql
from toolplan.planners.grounded.parse.mentions import Time
from toolplan.planners.grounded.parse.requests import Computation, Cut, Listed, ThingRequest


def selection_arguments(
    kind: Kind,
    conditions: Sequence[Condition],
    cut: Cut | None,
    tables: Mapping[str, Source],
    reason: Json,
) -> dict[str, Argument]:
    """Return the arguments of the step that selects rows of `kind`: the first of `tables`."""
    parts = ["SELECT * FROM", identifier(kind.plural)]
    used = columns_read(conditions)
    if conditions:
        parts.append("WHERE " + " AND ".join(sql(each) for each in conditions))
    if cut is not None and kind.date_column is not None and (cut.newest or cut.oldest):
        order = f"{identifier(kind.date_column)} {'DESC' if cut.newest else 'ASC'} NULLS LAST"
        parts.append(f"{first_places(cut.count, order, ())} ORDER BY {order}".strip())
        used.append(kind.date_column)
    elif cut is not None and cut.count is not None:
        parts.append(f"LIMIT {cut.count}")
    return computing(" ".join(parts), tables, used, reason)


def cut_of(request: ThingRequest) -> Cut | None:
    """Return the cut of `request`: the first boxes of a time are the oldest of them.

    Without a time, the first 5 boxes are any 5: those that the tool gives first.
    """
    cut = request.cut
    timed = any(isinstance(each.mention.what, Time) for each in request.modifiers)
    if cut is None or cut.newest or not timed:
        return cut
    return replace(cut, oldest=cut.oldest or any(m.does(WordClass.FIRST) for m in cut.mentions))


def cut_behind_order(computation: Computation, request: ThingRequest) -> bool:
    """Cut rows of `request` behind the order of `computation`: "the 5 boxes of most weight".

    False where no order says which rows are meant: "the average weight of 5 boxes".
    """
    cut = request.cut
    listed = isinstance(computation.measure, Listed) and computation.descending is not None
    if cut is not None and computation.groups and (cut.newest or cut.oldest):
        return False  # "the latest box of each town": cut first, one town would be left
    if cut is None or cut.newest or cut.oldest or cut.count is None:
        return True
    if not listed or computation.count is not None or computation.single:
        return False
    computation.count = cut.count
    computation.mentions.extend(cut.mentions)
    request.cut = None
    return True


def first_places(count: int | None, by: str, groups: Sequence[str]) -> str:
    """Return the clause that keeps the first `count` of each group; all where it is None.

    Rows that share the last place are all given.
    """
    within = f"PARTITION BY {', '.join(groups)} " if groups else ""
    return f" QUALIFY rank() OVER ({within}ORDER BY {by}) <= {count}" if count is not None else ""


def columns_read(conditions: Iterable[Condition]) -> list[str]:
    """Return the columns that `conditions` read."""
    found: list[str] = []
    for condition in conditions:
        found.append(condition.column)
        match condition:
            case Linked(its=other) | Share(whole=other):
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
    if shape.is_date:
        return shape.format
    kind = next(iter(shape.types)) if len(shape.types) == 1 else None
    return kind if kind in ("string", "boolean", "integer", "number") else None
