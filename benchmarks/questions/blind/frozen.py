"""A domain that is kept as JSON: its rows, and its tools with hints and without."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import date
from functools import cache, partial
from operator import eq, ge, le
from pathlib import Path
from typing import Any, Final, cast

from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Tool, Toolbox
from toolplan_sql import sql_tool

Row = Mapping[str, Any]
_COMPARES: Final = {"=": eq, ">=": ge, "<=": le}
_FOLDER: Final = Path(__file__).parent


@cache
def content(name: str) -> Any:  # noqa: ANN401 — JSON
    """Return a file: questions, or `today`, `tables` of rows, `tools` and `questions`."""
    return json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def database(name: str) -> sqlite3.Connection:
    """Return a database with the rows of a domain."""
    found = sqlite3.connect(":memory:", check_same_thread=False)
    for table, rows in content(name)["tables"].items():
        columns, marks = ", ".join(rows[0]), ", ".join("?" for _ in rows[0])
        found.execute(f"CREATE TABLE {table} ({columns})")
        values = [tuple(row.values()) for row in rows]
        found.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 — our names
    return found


def tools(name: str, *, hints: bool) -> Toolbox:
    """Return the tools of a domain, with hints or without, and the one that computes."""
    kept = content(name)
    made: list[Tool] = []
    for each in kept["tools"]:
        call = partial(_listed, kept["tables"].get(each["table"], []), each["arguments"])
        made.append(replace(Tool.from_json(each["hinted" if hints else "plain"]), call=call))
    return Toolbox([*made, sql_tool()])


async def _listed(
    rows: list[Row], arguments: Mapping[str, tuple[str, str]], given: Arguments
) -> Json:
    """Return the rows that the arguments of a call allow."""
    limit = given.get("limit")
    wanted = [(*arguments[name], value) for name, value in given.items() if name in arguments]
    found: list[Json] = [
        dict(row)
        for row in rows
        if all(_holds(row[column], sign, value) for column, sign, value in wanted)
    ]
    return found[: limit if isinstance(limit, int) else None]


def _holds(cell: Any, sign: str, value: Any) -> bool:  # noqa: ANN401 — JSON
    if isinstance(value, list):
        return any(_holds(cell, sign, each) for each in cast("list[object]", value))
    if isinstance(cell, str) and isinstance(value, str):
        cell, value = cell.casefold(), value.casefold()
    return cell is not None and _COMPARES[sign](cell, value)


def today(name: str) -> date:
    """Return the day on which the questions of a domain are asked."""
    return date.fromisoformat(content(name)["today"])
