"""Domains kept as JSON: rows, tools with hints and without, questions and the day they are asked.

The tools are made from the file: each lists the rows of a table that its arguments allow.
"""

from __future__ import annotations

import sqlite3
from datetime import date
from functools import cache, partial
from operator import eq, ge, le
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Tool, Toolbox, ToolError
from toolplan_sql import sql_tool

FOLDER: Final = Path(__file__).parent
_COMPARES: Final = {"=": eq, ">=": ge, "<=": le}


class Kept(msgspec.Struct, frozen=True):
    """A tool in a file.

    Attributes:
        table: its rows; "" for a tool that changes something, which no right plan calls.
        arguments: for each the column that it restricts, and how: =, >= or <=.
        gives: the rows alone, the rows in `data` with their `count`, or the one record in `data`.
        hinted, plain: the tool object with hints, and with names and types only.
    """

    table: str
    arguments: dict[str, tuple[str, Literal["=", ">=", "<="]]]
    gives: Literal["rows", "data", "record"]
    hinted: dict[str, Any]
    plain: dict[str, Any]


class Frozen(msgspec.Struct, frozen=True):
    """The content of a file."""

    today: date
    tables: dict[str, list[dict[str, Any]]]
    tools: list[Kept]
    questions: list[dict[str, Any]]


@cache
def content(name: str) -> Frozen:
    """Return the domain `name`."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Frozen)


@cache
def database(name: str) -> sqlite3.Connection:
    """Return a database with the rows of a domain."""
    found = sqlite3.connect(":memory:", check_same_thread=False)
    for table, rows in content(name).tables.items():
        columns, marks = ", ".join(rows[0]), ", ".join("?" for _ in rows[0])
        found.execute(f"CREATE TABLE {table} ({columns})")
        found.executemany(
            f"INSERT INTO {table} VALUES ({marks})", [[*row.values()] for row in rows]
        )
    return found


@cache
def tools(name: str, *, hints: bool) -> Toolbox:
    """Return the tools of a domain, with hints or without, and the one that computes."""
    kept = content(name)
    made = [
        replace(
            Tool.from_json(each.hinted if hints else each.plain),
            call=partial(_called, kept.tables.get(each.table, []), each),
        )
        for each in kept.tools
    ]
    return Toolbox([*made, sql_tool()])


async def _called(rows: list[dict[str, Any]], tool: Kept, given: Arguments) -> Json:
    """Return the rows that the arguments of a call allow, or the one record."""
    wanted = [(*tool.arguments[n], value) for n, value in given.items() if n in tool.arguments]
    found = [row for row in rows if all(_holds(row[at], sign, v) for at, sign, v in wanted)]
    limit = given.get("limit")
    found = cast("list[Json]", found[: limit if isinstance(limit, int) else None])
    if tool.gives == "record" and not found:
        raise ToolError(f"There is no record with {dict(given)}.")
    if tool.gives == "rows":
        return found
    return {"data": found[0]} if tool.gives == "record" else {"data": found, "count": len(found)}


def _holds(cell: Json, sign: str, value: Json) -> bool:
    match cell, value:
        case _, list():
            return any(_holds(cell, sign, each) for each in value)
        case str(), str():
            return bool(_COMPARES[sign](cell.casefold(), value.casefold()))
        case ((int() | float()), (int() | float())):
            return bool(_COMPARES[sign](cell, value))
        case _:
            return False
