"""Whether two runs give the same rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from toolplan.plan.path import Json
from toolplan.show.answer.shape import NO_HINTS, Record, Rows, Single, shape_of

Cell: TypeAlias = str | float | None
Row: TypeAlias = Mapping[str, Json]

_TOLERANCE: Final = 1e-9
_CENT: Final = 0.0051  # reports round their percentages to two decimals
_RANKS: Final = re.compile(
    r"\b(?:top|most|least|best|worst|first|last(?! \w*(?:day|week|month|year|\d))|latest|rank\w*"
    r"|sort\w*|order(?:ed)? by|\w{3,}est|descending|ascending)\b",
    re.IGNORECASE,
)
"""Words of a question that asks for an order."""
_ORDER: Final = re.compile(r"\bORDER BY (\w+)[^()]*$")


def tables_of(output: Json) -> list[list[dict[str, Json]]]:
    """Return the rows of each step whose output a plan gives."""
    parts = list(output.values()) if isinstance(output, dict) else [output]
    return [rows_of(each) for each in parts]


def one_table(tables: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the things of several tables, each once; no rows where one has no identity."""
    rows = [row for table in tables for row in table]
    if len(tables) < 2 or any("id" not in row for row in rows):
        return []
    return [*{json.dumps(row["id"]): row for row in rows}.values()]


def rows_of(value: Json) -> list[dict[str, Json]]:
    """Return the rows of an output, of the one step that gives something."""
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    if isinstance(inner, list) and inner and all(isinstance(each, list) for each in inner):
        inner = [row for each in inner if isinstance(each, list) for row in each]  # of `for_each`
    match shape_of(inner, NO_HINTS):
        case Rows(rows=rows):
            return list(rows)
        case Record(fields=fields):
            return [fields]
        case Single(value=single):
            return [{"value": single}]


def same_tables(
    given: Sequence[Sequence[Row]], wanted: Sequence[Sequence[Row]], order: str | None = None
) -> bool:
    """Return whether each table of `wanted` is one of `given`, and there are no others.

    The same things in one table or in several, for *those of A and those of B*, are the same.
    `order` is a column of the one table that has to be in the order of it.
    """
    if len(given) != len(wanted):
        return _same_things(given, wanted)
    left = list(given)
    for table in wanted:
        found = next((each for each in left if same_table(each, table, order)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _same_things(given: Sequence[Sequence[Row]], wanted: Sequence[Sequence[Row]]) -> bool:
    one = [row.get("id") for table in given for row in table]
    other = [row.get("id") for table in wanted for row in table]
    return bool(one) and None not in one and {*map(str, one)} == {*map(str, other)}


def same_table(given: Sequence[Row], wanted: Sequence[Row], order: str | None = None) -> bool:
    """Return whether both have the same rows; `given` may have more columns, or fewer of a thing.

    Rows with an identity are the same where that is.
    """
    if len(given) != len(wanted):
        return False
    if all("id" in row for row in (*given, *wanted)):
        by_id = {str(row["id"]): row for row in wanted}
        if Counter(str(row["id"]) for row in given) != Counter(str(row["id"]) for row in wanted):
            return False
        matched = [by_id[str(row["id"])] for row in given]
    else:
        matched = _matched(given, wanted)
        if matched is None:
            return False
    if order is None or not all(order in row for row in wanted):
        return True
    return [row[order] for row in matched] == [row[order] for row in wanted]


def _matched(given: Sequence[Row], wanted: Sequence[Row]) -> list[Row] | None:
    """Return the wanted row of each given one, or None."""
    left, found = list(wanted), list[Row]()
    for row in given:
        at = next((at for at, each in enumerate(left) if is_row(row, [*each.values()])), None)
        if at is None:
            return None
        found.append(left.pop(at))
    return found


def ordered_by(question: str, sql: str) -> str | None:
    """Return the first column by which a statement orders its rows, if the question asks for it."""
    found = _ORDER.search(sql) if _RANKS.search(question) else None
    return found[1] if found else None


def same_rows(given: Sequence[Row], wanted: Sequence[Sequence[Cell]], *, ordered: bool) -> bool:
    """Return whether every wanted row is among the `given`, and there are no others.

    A row is the wanted one where each cell of that is in it; the given row may have more columns.
    Shares may be given as percentages, in columns whose name says so.
    """
    if len(given) != len(wanted):
        return False
    if ordered:
        return all(map(is_row, given, wanted))
    left = list(given)
    for row in wanted:
        at = next((at for at, each in enumerate(left) if is_row(each, row)), None)
        if at is None:
            return False
        del left[at]
    return True


def is_row(given: Row, wanted: Sequence[Json]) -> bool:
    """Return whether each wanted cell is in the given row."""
    return all(any(_is_cell(name, value, cell) for name, value in given.items()) for cell in wanted)


def _is_cell(name: str, given: Json, wanted: Json) -> bool:
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return given == wanted or json.dumps(given) == json.dumps(wanted)
    if not isinstance(given, bool | int | float):
        return False
    if name.endswith("percent"):
        return abs(given - 100 * wanted) <= _CENT
    return abs(given - wanted) <= _TOLERANCE * max(1.0, abs(wanted))
