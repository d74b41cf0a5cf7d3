"""The demo's domain, read from `domain.json`: names with frequencies, and the tools' declarations.

In a node of its schemas `$ref` stands for the node of that name, whose keywords those beside it
replace, and `$record` for a closed object that has every field.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct, convert

from toolplan.plan.path import Json

FILE: Final = Path(__file__).with_name("domain.json")
RISKS: Final = ("low", "medium", "high", "critical")
"""Levels of risk, in their order."""

Node: TypeAlias = dict[str, Json]


class City(Struct, frozen=True, array_like=True):
    """A city with facilities. `trade` is its share of shipments, relative to the others."""

    name: str
    latitude: float
    longitude: float
    trade: float
    spellings: tuple[str, ...]


class Carrier(Struct, frozen=True, array_like=True):
    """A haulier. `share` is relative; `dirt` is its probability of a contaminated shipment."""

    name: str
    share: float
    dirt: float
    spellings: tuple[str, ...]


class WasteType(Struct, frozen=True, array_like=True):
    """A kind of waste.

    `code` is from the European list of wastes; `share` is relative; `dirt` multiplies the carrier's
    probability; `weight_kg` is the middle of a shipment's weight; `summer` is how much more of it
    moves in July than on average, as a fraction (negative: it moves in winter).
    """

    name: str
    code: str
    share: float
    dirt: float
    weight_kg: float
    summer: float
    spellings: tuple[str, ...]


class ContaminantType(Struct, frozen=True, array_like=True):
    """A contaminant. From `limit_ppm` on a concentration is of medium risk; `share` is relative."""

    name: str
    share: float
    limit_ppm: float
    found_in: str
    spellings: tuple[str, ...]


class Site(Struct, frozen=True, array_like=True):
    """A facility as it was built.

    `fill` is its load, as a fraction of its capacity, before chance adds a little; `accepts`
    and `refuses` are waste types. F14 accepts types that it refuses: a fact to be found.
    """

    id: str
    name: str
    city: str
    type: str
    capacity_tons: int
    fill: float
    accepts: tuple[str, ...]
    refuses: tuple[str, ...]
    has_contact: bool
    operating_hours: str


class Names(Struct, frozen=True):
    """All names that occur in the data."""

    cities: tuple[City, ...]
    carriers: tuple[Carrier, ...]
    waste_types: tuple[WasteType, ...]
    contaminant_types: tuple[ContaminantType, ...]
    inspectors: tuple[str, ...]
    sites: tuple[Site, ...]

    @property
    def spelled(self) -> dict[str, tuple[City | Carrier | WasteType | ContaminantType, ...]]:
        """The names that have other spellings, by the group."""
        return {
            "cities": self.cities,
            "carriers": self.carriers,
            "waste_types": self.waste_types,
            "contaminant_types": self.contaminant_types,
        }


class Declared(Struct, frozen=True):
    """The declaration of a tool."""

    description: str
    entity: str
    verb: str
    synonyms: Any
    arguments: dict[str, Any]
    aliases: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    order: str | None = None
    gives_one: Any = None
    gives_many: Any = None
    effects: str = "read"
    idempotent: bool = False

    def input(self) -> Node:
        """Return the schema of the arguments, with the hints that speak of the tool itself."""
        schema: Node = {
            "type": "object",
            "properties": _resolved(self.arguments),
            "required": [*self.required],
            "additionalProperties": False,
            "x-entity": self.entity,
            "x-verb": self.verb,
            "x-synonyms": _resolved(self.synonyms),
        }
        if self.aliases:
            schema["x-aliases"] = [*self.aliases]
        if self.order is not None:
            schema["x-order"] = self.order
        return schema

    def output(self) -> Node:
        """Return the schema of the result."""
        if self.gives_many is None:
            return _record({"data": _resolved(self.gives_one)})
        rows: Node = {"type": "array", "items": _resolved(self.gives_many)}
        return _record({"data": rows, "count": {"type": "integer", "minimum": 0}})


class _Domain(Struct, frozen=True):
    names: Names
    nodes: dict[str, Any]
    tools: dict[str, Declared]


_DOMAIN: Final = convert(json.loads(FILE.read_bytes()), _Domain)
NAMES: Final = _DOMAIN.names
TOOLS: Final[Mapping[str, Declared]] = _DOMAIN.tools

_NODES: Final[Node] = {
    **_DOMAIN.nodes,
    "inspectors": [*NAMES.inspectors],
    "sites": {site.id: [site.name] for site in NAMES.sites},
    **{group: [each.name for each in found] for group, found in NAMES.spelled.items()},
    **{
        f"{group}.spellings": {each.name: [*each.spellings] for each in found if each.spellings}
        for group, found in NAMES.spelled.items()
    },
}
_PROPER: Final = {
    group: {form.casefold(): each.name for each in found for form in (*each.spellings, each.name)}
    for group, found in NAMES.spelled.items()
}


def fold(text: str) -> str:
    """Return `text` as it is compared: without case, and without blanks at its ends."""
    return text.strip().casefold()


def proper(text: str, group: str) -> str:
    """Return the name of `group` that `text` means, `Munich` for `MÜNCHEN`; else `text` itself."""
    return _PROPER.get(group, {}).get(fold(text), text)


def next_day(date: str) -> str:
    """Return the ISO 8601 date behind `date`; none comes behind the calendar's last day."""
    day = datetime.date.fromisoformat(date)
    if day == datetime.date.max:
        return "A"  # sorts behind every digit
    return (day + datetime.timedelta(days=1)).isoformat()


def _record(properties: Node) -> Node:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _resolved(node: Json) -> Json:
    match node:
        case {"$record": dict(fields), **hints}:
            return {**_record({name: _resolved(each) for name, each in fields.items()}), **hints}
        case {"$ref": str(name), **own}:
            found = _resolved(_NODES[name])
            more = {key: _resolved(each) for key, each in own.items()}
            return {**found, **more} if isinstance(found, dict) else found
        case dict():
            return {key: _resolved(each) for key, each in node.items()}
        case list():
            return [_resolved(each) for each in node]
        case _:
            return node
