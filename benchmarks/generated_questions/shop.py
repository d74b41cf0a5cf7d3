"""A second catalogue: the customers, products, orders and tickets of an imaginary shop.

Its rows are drawn with a seed. The tools read lists in memory; `database` holds the same rows for
queries that go another way than the planner does.
"""

from __future__ import annotations

import datetime
import random
import sqlite3
from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Effects, Tool, Toolbox
from toolplan_sql import sql_tool

Node: TypeAlias = dict[str, Json]
Row: TypeAlias = dict[str, Json]

TODAY: Final = datetime.date(2025, 10, 12)
_DAYS: Final = 650
_CITIES: Final = ("Oslo", "Porto", "Ghent", "Turin", "Graz")
_FIRST: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "June")
_LAST: Final = ("Moss", "Reed", "Stone")
_CATEGORIES: Final = ("lamps", "chairs", "tables", "rugs")
_AGENTS: Final = ("Kim Vale", "Lou Marsh", "Max Ford", "Nia Dell")
_CHANNELS: Final = ("web", "phone", "store")
_STATES: Final = ("open", "shipped", "returned", "cancelled")


@cache
def tables() -> Mapping[str, tuple[Row, ...]]:
    """Return the rows of each table."""
    draw = random.Random(14)
    customers: list[Row] = [
        {
            "id": f"C{at}",
            "name": f"{_FIRST[at % len(_FIRST)]} {_LAST[at // len(_FIRST)]}",
            "city": draw.choice(_CITIES),
            "tier": draw.choice(("basic", "basic", "plus", "premium")),
            "joined": _day(draw),
        }
        for at in range(24)
    ]
    products: list[Row] = [
        {
            "id": f"P{at}",
            "name": f"{_CATEGORIES[at % 4][:-1]} no. {at}",
            "category": _CATEGORIES[at % 4],
            "price_eur": 5 * draw.randint(3, 60),
        }
        for at in range(18)
    ]
    return {
        "customers": tuple(customers),
        "products": tuple(products),
        "orders": tuple(_order(draw, at, customers, products) for at in range(420)),
        "tickets": tuple(_ticket(draw, at, customers) for at in range(180)),
    }


@cache
def database() -> sqlite3.Connection:
    """Return a database in memory with the same rows."""
    connection = sqlite3.connect(":memory:")
    for name, rows in tables().items():
        columns = list(rows[0])
        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        places = ", ".join("?" * len(columns))
        connection.executemany(
            f"INSERT INTO {name} VALUES ({places})", [[*row.values()] for row in rows]
        )
    return connection


def _day(draw: random.Random) -> str:
    return (TODAY - datetime.timedelta(days=draw.randrange(_DAYS))).isoformat()


def _order(draw: random.Random, at: int, customers: list[Row], products: list[Row]) -> Row:
    # few customers buy much, so that ranks have few ties
    customer = customers[min(int(draw.expovariate(0.18)), len(customers) - 1)]
    product = draw.choice(products)
    price = product["price_eur"]
    return {
        "id": f"O{at}",
        "customer_id": customer["id"],
        "product_id": product["id"],
        "status": draw.choices(_STATES, (2, 6, 2, 1))[0],
        "channel": draw.choices(_CHANNELS, (5, 2, 3))[0],
        "placed_on": _day(draw),
        "amount_eur": (price if isinstance(price, int) else 0) * draw.randint(1, 4),
        "weight_kg": draw.choice((0.5, 2, 4.5, 8, 10, 12, 20, 25)),
    }


def _ticket(draw: random.Random, at: int, customers: list[Row]) -> Row:
    return {
        "id": f"T{at}",
        "customer_id": draw.choice(customers)["id"],
        "priority": draw.choices(("low", "normal", "urgent"), (3, 5, 2))[0],
        "solved": draw.random() < 0.7,
        "agent": draw.choices(_AGENTS, (4, 3, 2, 1))[0],
        "opened_on": _day(draw),
        "minutes": 5 * draw.randint(1, 36),
    }


def _texts(*texts: str) -> list[Json]:
    return [*texts]


def _id(entity: str, letter: str, **more: Json) -> Node:
    pattern = f"^{letter}[0-9]+$"
    return {"type": "string", "pattern": pattern, "x-ref": f"{entity}.id", **more}


def _ids(entity: str) -> Node:
    one: Node = {"type": "string"}
    return {"anyOf": [one, {"type": "array", "items": one}], "x-ref": f"{entity}.id"}


def _word(values: tuple[str, ...], **more: Json) -> Node:
    return {"type": "string", "enum": [*values], **more}


def _name(kind: str, values: tuple[str, ...], **more: Json) -> Node:
    return {"type": "string", "x-kind": kind, "x-gazetteer": [*values], **more}


_DATE: Final[Node] = {"type": "string", "format": "date"}
_CITY: Final = _name(
    "place", _CITIES, **{"x-synonyms": _texts("town"), "x-cue": _texts("in", "from")}
)
_TIER: Final = _word(("basic", "plus", "premium"), **{"x-synonyms": _texts("level")})
_CATEGORY: Final = _word(_CATEGORIES)
_STATUS: Final[Node] = {
    **_word(_STATES, **{"x-synonyms": _texts("state")}),
    "x-values": {"returned": ["sent back"]},
}
_CHANNEL: Final = _word(_CHANNELS, **{"x-cue": _texts("over", "by", "in")})
_AGENT: Final = _name("person", _AGENTS, **{"x-cue": _texts("by", "handled by")})
_PRIORITY: Final = _word(("low", "normal", "urgent"))
_SOLVED: Final[Node] = {
    "type": "boolean",
    "x-values": {"true": ["solved", "closed"], "false": ["unsolved", "not solved"]},
}
_PRICE: Final[Node] = {"type": "number", "x-unit": "EUR", "x-synonyms": ["price", "expensive"]}
_AMOUNT: Final[Node] = {"type": "number", "x-unit": "EUR", "x-synonyms": ["amount", "value"]}
_WEIGHT: Final[Node] = {"type": "number", "x-unit": "kg", "x-synonyms": ["weight", "heavy"]}
_MINUTES: Final[Node] = {"type": "integer", "x-unit": "min", "x-synonyms": ["duration", "long"]}

_COLUMNS: Final[Mapping[str, Node]] = {
    "customers": {
        "id": _id("customer", "C"),
        "name": {"type": "string", "x-kind": "name"},
        "city": _CITY,
        "tier": _TIER,
        "joined": _DATE,
    },
    "products": {
        "id": _id("product", "P"),
        "name": {"type": "string", "x-kind": "name"},
        "category": _CATEGORY,
        "price_eur": _PRICE,
    },
    "orders": {
        "id": _id("order", "O"),
        "customer_id": _id("customer", "C", **{"x-synonyms": _texts("customer")}),
        "product_id": _id("product", "P", **{"x-synonyms": _texts("product")}),
        "status": _STATUS,
        "channel": _CHANNEL,
        "placed_on": _DATE,
        "amount_eur": _AMOUNT,
        "weight_kg": _WEIGHT,
    },
    "tickets": {
        "id": _id("ticket", "T"),
        "customer_id": _id("customer", "C", **{"x-synonyms": _texts("customer")}),
        "priority": _PRIORITY,
        "solved": _SOLVED,
        "agent": _AGENT,
        "opened_on": _DATE,
        "minutes": _MINUTES,
    },
}


def _range(field: str) -> Node:
    return {
        "since": {**_DATE, "x-role": "range.start", "x-field": field},
        "until": {**_DATE, "x-role": "range.end", "x-field": field},
    }


def _bound(role: str, field: str, unit: str) -> Node:
    return {"type": "number", "x-role": role, "x-field": field, "x-unit": unit}


_LIMIT: Final[Node] = {"type": "integer", "minimum": 1, "x-role": "limit"}


def _listing(table: str, entity: str, arguments: Node, *nouns: str) -> Tool:
    row: Node = {
        "type": "object",
        "x-entity": entity,
        "properties": _COLUMNS[table],
        "required": [*_COLUMNS[table]],
    }
    return Tool(
        f"{table}_list",
        f"Lists {table}.",
        {
            "type": "object",
            "properties": {**arguments, "limit": _LIMIT},
            "additionalProperties": False,
            "x-entity": entity,
            "x-verb": "list",
            "x-synonyms": [*nouns],
        },
        {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": row}},
            "required": ["rows"],
        },
        Effects.READ,
        call=_reader(table, arguments),
    )


def _reader(table: str, arguments: Node) -> Call:
    async def read(given: Arguments) -> Json:
        kept = [row for row in tables()[table] if _fits(row, given, arguments)]
        limit = given.get("limit")
        return {"rows": [*(kept[:limit] if isinstance(limit, int) else kept)]}

    return read


def _fits(row: Row, given: Arguments, arguments: Node) -> bool:
    for name, wanted in given.items():
        shape = arguments.get(name)
        if name == "limit" or not isinstance(shape, dict):
            continue
        role, field = shape.get("x-role"), shape.get("x-field")
        value = row[field if isinstance(field, str) else name]
        if role in ("range.start", "min"):
            fits = _number_or_day(value) >= _number_or_day(wanted)
        elif role in ("range.end", "max"):
            fits = _number_or_day(value) <= _number_or_day(wanted)
        elif isinstance(wanted, list):
            fits = value in wanted
        else:
            fits = value == wanted
        if not fits:
            return False
    return True


def _number_or_day(value: Json) -> tuple[float, str]:
    return (0.0, value) if isinstance(value, str) else (float(str(value)), "")


def shop() -> Toolbox:
    """Return the tools of the shop, and the one that computes."""
    return Toolbox(
        [
            _listing("customers", "customer", {"city": _CITY, "tier": _TIER}, "client", "buyer"),
            _listing(
                "products",
                "product",
                {"category": _CATEGORY, "max_price_eur": _bound("max", "price_eur", "EUR")},
                "article",
            ),
            _listing(
                "orders",
                "order",
                {
                    **_range("placed_on"),
                    "status": _STATUS,
                    "channel": _CHANNEL,
                    "customer_id": _ids("customer"),
                    "product_id": _ids("product"),
                    "min_amount_eur": _bound("min", "amount_eur", "EUR"),
                    "max_amount_eur": _bound("max", "amount_eur", "EUR"),
                },
                "purchase",
            ),
            _listing(
                "tickets",
                "ticket",
                {
                    **_range("opened_on"),
                    "priority": _PRIORITY,
                    "solved": _SOLVED,
                    "agent": _AGENT,
                    "customer_id": _ids("customer"),
                },
                "complaint",
            ),
            sql_tool(),
        ]
    )
