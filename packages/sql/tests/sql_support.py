"""Short ways to call and to check the tool `sql`."""

import asyncio
from collections.abc import Mapping, Sequence

from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ComputedOutput, Tool
from toolplan_sql import sql_tool

SQL = sql_tool()
EAST = "2026-11-24T23:30:00-05:00"


def table_of(properties: dict[str, Json], **more: Json) -> Schema:
    """Return the schema of a table whose rows have `properties`."""
    row: Json = {"type": "object", "properties": properties, **more}
    return Schema.load({"type": "array", "items": row})


def rows_of(values: Sequence[Json]) -> list[Json]:
    """Return a row with a number `n` for each of `values`, in `v`."""
    return [{"n": at, "v": value} for at, value in enumerate(values)]


CLOSED: dict[str, Json] = {"additionalProperties": False}
"""The keyword of a schema whose objects have no other properties."""


ROW: dict[str, Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "date": {"type": "string", "format": "date"},
        "seen_at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        "carrier": {"type": ["string", "null"]},
        "state": {"enum": ["open", "closed"]},
        "weight_kg": {"type": "number"},
        "pieces": {"type": "integer"},
        "bad": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/$defs/Place"},
        "extra": {},
        "mixed": {"type": ["integer", "string"]},
    },
    "required": ["id", "date"],
}
SHIPMENTS = Schema.load(
    {
        "type": "array",
        "items": ROW,
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}},
                "additionalProperties": False,
            }
        },
    }
)
ROWS: list[Json] = [
    {
        "id": f"S{n}",
        "date": f"2025-10-{n + 1:02d}",
        "seen_at": f"2025-10-{n + 1:02d}T10:30:00Z" if n else None,
        "carrier": ["Aller", "Bode"][n % 2],
        "state": "open" if n < 3 else "closed",
        "weight_kg": n * 1.5,
        "pieces": n,
        "bad": n % 3 == 0,
        "tags": ["a", f"t{n}"],
        "place": {"city": "Berlin", "zip": None},
        "extra": {"n": n},
        "mixed": n if n % 2 else str(n),
    }
    for n in range(6)
]


def run(
    sql: str,
    tables: Mapping[str, Json],
    columns: Json = None,
    tool: Tool = SQL,
    zone: str | None = None,
) -> list[dict[str, Json]]:
    """Return the rows of `sql` over `tables`."""
    arguments: dict[str, Json] = {"sql": sql, "tables": dict(tables)}
    if columns is not None:
        arguments["columns"] = columns
    if zone is not None:
        arguments["zone"] = zone
    assert tool.call is not None
    result = asyncio.run(awaited(tool, arguments))
    assert isinstance(result, dict)
    data = result["data"]
    assert isinstance(data, list)
    assert result["count"] == len(data)
    assert tool.output is not None
    assert tool.output.is_valid(result)
    return [row for row in data if isinstance(row, dict)]


async def awaited(tool: Tool, arguments: dict[str, Json]) -> Json:
    """Return what a call of `tool` gives."""
    assert tool.call is not None
    return await tool.call(arguments)


def check(
    sql: str,
    references: Mapping[str, Schema | None] | None = None,
    tables: Json = None,
    columns: Json = None,
) -> ComputedOutput:
    """Return what the tool says of `sql` over the tables of `references` and `tables`."""
    literals: dict[str, Json] = {"sql": sql}
    if tables is not None:
        literals["tables"] = tables
    if columns is not None:
        literals["columns"] = columns
    assert SQL.compute_output is not None
    schemas = {f"/tables/{name}": schema for name, schema in (references or {}).items()}
    return SQL.compute_output(literals, schemas)


def columns_of(computed: ComputedOutput) -> dict[str, Json]:
    """Return the schema of each column of the result."""
    assert computed.problems == ()
    assert computed.schema is not None
    document = computed.schema.document
    assert isinstance(document, dict)
    node: Json = document
    for key in ("properties", "data", "items", "properties"):
        assert isinstance(node, dict)
        node = node[key]
    assert isinstance(node, dict)
    return node
