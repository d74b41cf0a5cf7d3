"""What generated questions are about: the words of a catalogue, and the SQL that they mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from benchmarks.generated_questions import shop
from toolplan.schema.tool import Toolbox
from toolplan_demo import demo_tools
from toolplan_demo.database import open_database
from toolplan_sql import sql_tool

DEMO_TODAY: Final = date(2025, 10, 12)
DEMO_ROWS: Final = 1_500


class Said(NamedTuple):
    """Words of a question, and the condition that they mean."""

    words: str
    where: str


class Measure(NamedTuple):
    """A column of numbers: its noun, and what follows a bound: `("{} kg", 1)`, in the column's."""

    noun: str
    column: str
    units: tuple[tuple[str, float], ...]
    bounds: tuple[float, ...]
    did: str = ""
    """how it is said with a verb: "weigh" in "how much did … weigh" """
    more: tuple[str, ...] = ()
    """words for above, beside "over": "heavier than" """
    less: tuple[str, ...] = ()


class Group(NamedTuple):
    """What rows are grouped by: its nouns, and the columns of which an answer may show either."""

    one: str
    many: str
    column: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Things:
    """A table as questions speak of it."""

    many: str
    table: str
    day: str
    states: tuple[Said, ...]
    ends: tuple[Said, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Domain:
    """A catalogue, its rows and its words."""

    name: str
    tools: Callable[[], Toolbox]
    database: Callable[[], sqlite3.Connection]
    today: date
    things: tuple[Things, ...]


def _said(text: str, column: str) -> tuple[Said, ...]:
    """Return words that are also values of `column`."""
    return tuple(Said(word, f"{column} = '{word}'") for word in text.split())


_EUR: Final = (("{} euros", 1.0), ("{} EUR", 1.0))
_KG: Final = (("{} kg", 1.0),)

SHOP: Final = Domain(
    "shop",
    shop.shop,
    shop.database,
    shop.TODAY,
    (
        Things(
            "orders",
            "orders",
            "placed_on",
            (*_said("open shipped returned cancelled", "status"), Said("", "1")),
            (Said("", "1"), Said("by phone", "channel = 'phone'")),
            (
                Group("channel", "channels", "channel", ("channel",)),
                Group("customer", "customers", "customer_id", ("customer_id",)),
                Group("product", "products", "product_id", ("product_id",)),
                Group("status", "statuses", "status", ("status",)),
            ),
            (
                Measure("amount", "amount_eur", _EUR, (100, 200, 400), "", ("worth more than",)),
                Measure(
                    "weight", "weight_kg", _KG, (2, 8, 10, 20), "weigh",
                    ("heavier than",), ("lighter than",),
                ),
            ),
        ),
        Things(
            "tickets",
            "tickets",
            "opened_on",
            (
                Said("urgent", "priority = 'urgent'"),
                Said("solved", "solved = 1"),
                Said("unsolved", "solved = 0"),
                Said("", "1"),
            ),
            (Said("", "1"), Said("handled by Kim Vale", "agent = 'Kim Vale'")),
            (
                Group("agent", "agents", "agent", ("agent",)),
                Group("priority", "priorities", "priority", ("priority",)),
                Group("customer", "customers", "customer_id", ("customer_id",)),
            ),
            (
                Measure(
                    "duration", "minutes", (("{} minutes", 1.0), ("{} hours", 60.0)),
                    (60, 120), "last", ("longer than",), ("shorter than",),
                ),
            ),
        ),
        Things(
            "products",
            "products",
            "",
            (Said("", "1"),),
            (Said("", "1"),),
            (Group("category", "categories", "category", ("category",)),),
            (Measure("price", "price_eur", _EUR, (100, 150, 200), "cost", ("dearer than",)),),
        ),
    ),
)  # fmt: skip

_FACILITY: Final = Group(
    "facility",
    "facilities",
    "facility_id",
    ("facility_id", "(SELECT name FROM facilities AS f WHERE f.id = facility_id)"),
)

DEMO: Final = Domain(
    "demo",
    lambda: demo_tools(DEMO_TODAY, DEMO_ROWS).with_tools(sql_tool()),
    lambda: open_database(DEMO_TODAY, DEMO_ROWS),
    DEMO_TODAY,
    (
        Things(
            "shipments",
            "shipments",
            "date",
            (
                *_said("rejected delivered pending", "status"),
                *_said("plastic hazardous", "waste_type"),
                Said("contaminated", "has_contaminants = 1"),
                Said("clean", "has_contaminants = 0"),
                Said("", "1"),
            ),
            (
                Said("", "1"),
                Said("from Hamburg", "origin = 'Hamburg'"),
                Said("to Berlin", "destination = 'Berlin'"),
                Said("carried by EcoTrans", "carrier = 'EcoTrans'"),
            ),
            (
                Group("carrier", "carriers", "carrier", ("carrier",)),
                Group("origin", "origins", "origin", ("origin",)),
                Group("waste type", "waste types", "waste_type", ("waste_type",)),
                _FACILITY,
            ),
            (
                Measure(
                    "weight", "weight_kg", (("{} kg", 1.0), ("{} tonnes", 1000.0)),
                    (5000, 10000, 20000), "weigh", ("heavier than",), ("lighter than",),
                ),
            ),
        ),
        Things(
            "inspections",
            "inspections",
            "date",
            (*_said("accepted rejected pending", "status"), Said("", "1")),
            (Said("", "1"), Said("by Anna Becker", "inspector = 'Anna Becker'")),
            (Group("inspector", "inspectors", "inspector", ("inspector",)), _FACILITY),
            (
                Measure(
                    "duration", "duration_minutes", (("{} minutes", 1.0), ("{} hours", 60.0)),
                    (60,), "last", ("longer than",), ("shorter than",),
                ),
            ),
        ),
        Things(
            "contaminants",
            "contaminants",
            "substr(detected_at, 1, 10)",
            (*_said("critical", "risk_level"), Said("lead", "type = 'Lead'"), Said("", "1")),
            (Said("", "1"),),
            (Group("substance", "substances", "type", ("type",)), _FACILITY),
            (Measure("concentration", "concentration_ppm", (("{} ppm", 1.0),), (20, 50, 100)),),
        ),
    ),
)  # fmt: skip

DOMAINS: Final = {each.name: each for each in (DEMO, SHOP)}
