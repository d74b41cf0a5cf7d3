"""Facilities: where waste goes, and the tools that list, get, make and change them."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.demo.database import INSERT_FACILITY, Database, Row, SqlValue, write_document
from toolplan.demo.fields import (
    Node,
    arguments,
    at_least,
    at_most,
    hinted,
    limit,
    many,
    named,
    nullable,
    one,
    record,
    reference,
    references,
    row,
)
from toolplan.demo.filters import Listing, bound, equals, one_of, same_text
from toolplan.demo.gazetteers import CITIES, WASTE_TYPES, proper
from toolplan.demo.inspections import INSPECTION
from toolplan.demo.operation import Operation, existing, getter
from toolplan.demo.shipments import SHIPMENT
from toolplan.path import Json
from toolplan.tools import Arguments, Effects, ToolError

ENTITY: Final = "facility"
_NOUNS: Final = (
    "site",
    "plant",
    "depot",
    "centre",
    "place",
    "station",
    "waste centre",
    "waste center",
    "waste site",
)
_SELECT: Final = "SELECT * FROM facilities WHERE id = ?"
_ACTIVITY_DAYS: Final = 30
_MAX_DAYS: Final = 3_660
_CHANGEABLE: Final = (
    "name",
    "location",
    "type",
    "capacity_tons",
    "current_load_tons",
    "accepted_waste_types",
    "rejected_waste_types",
    "contact_email",
    "contact_phone",
    "operating_hours",
)
_UPDATE: Final = """
UPDATE facilities SET name = ?, location = ?, type = ?, capacity_tons = ?, current_load_tons = ?,
accepted_waste_types = ?, rejected_waste_types = ?, contact_email = ?, contact_phone = ?,
operating_hours = ? WHERE id = ?
"""

_LOCATION: Final = named(
    "The city in which the facility is.",
    "place",
    CITIES,
    {
        "x-synonyms": ["city", "town"],
        "x-cue": ["in", "at", "located in", "based in", "situated in"],
    },
)
_TYPE: Final[Node] = {
    "type": "string",
    "enum": ["sorting", "processing", "disposal"],
    "description": "What the facility does with waste.",
    "x-synonyms": ["kind"],
    "x-values": {"disposal": ["landfill", "dump"], "processing": ["treatment"]},
}
_NAME: Final[Node] = {
    "type": "string",
    "minLength": 1,
    "description": "The facility's name.",
    "x-kind": "name",
    "x-cue": ["named", "called"],
}
_CAPACITY: Final[Node] = {
    "type": "number",
    "exclusiveMinimum": 0,
    "description": "How much it can hold, in tonnes.",
    "x-unit": "t",
    "x-synonyms": ["capacity", "size"],
}
_LOAD: Final[Node] = {
    "type": "number",
    "minimum": 0,
    "description": "How much it holds now, in tonnes.",
    "x-unit": "t",
    "x-part-of": "capacity_tons",
    "x-synonyms": ["load", "current load", "fill"],
}
_CONTACT: Final[list[Json]] = ["contact data", "contact details", "contact information"]
_EMAIL: Final[Node] = {
    "type": "string",
    "format": "email",
    "description": "E-mail of the contact.",
    "x-synonyms": ["email address", "mail address", *_CONTACT],
}
_PHONE: Final[Node] = {
    "type": "string",
    "description": "Telephone of the contact.",
    "x-synonyms": ["phone number", "telephone number", *_CONTACT],
}
_HOURS: Final[Node] = {
    "type": "string",
    "pattern": "^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$",
    "description": "From when to when it is open each day: 06:00-22:00.",
    "x-synonyms": ["opening hours", "opening times", "hours"],
}


def _waste_types(description: str, *cues: str) -> Node:
    """Return a list of waste types; only behind `cues` are they meant, else those of shipments."""
    one_type: Node = {"type": "string", "minLength": 1}
    listed: Node = {"type": "array", "items": one_type, "description": description}
    if not cues:
        return listed
    names = named(description, "name", WASTE_TYPES, {"x-cue": [*cues]})
    hints = {key: value for key, value in names.items() if key.startswith("x-")}
    return {**listed, **hints}


FACILITY: Final = row(
    ENTITY,
    {
        "id": {
            "type": "string",
            "pattern": "^F[0-9]+$",
            "description": "The facility's identity.",
            "x-ref": "facility.id",
        },
        "name": _NAME,
        "location": _LOCATION,
        "type": _TYPE,
        "capacity_tons": _CAPACITY,
        "current_load_tons": nullable(_LOAD),
        "coordinates": nullable(
            record(
                {
                    "lat": {"type": "number", "minimum": -90, "maximum": 90},
                    "lon": {"type": "number", "minimum": -180, "maximum": 180},
                }
            )
        ),
        "accepted_waste_types": _waste_types(
            "The kinds of waste that it takes.", "accept", "accepting", "can accept", "allowed for"
        ),
        "rejected_waste_types": _waste_types("The kinds of waste that it refuses."),
        "contact_email": nullable(_EMAIL),
        "contact_phone": nullable(_PHONE),
        "operating_hours": nullable(_HOURS),
    },
)
_ACTIVITY: Final = record(
    {
        "facility": FACILITY,
        "date_from": {"type": "string", "format": "date"},
        "date_to": {"type": "string", "format": "date"},
        "shipments": {"type": "array", "items": SHIPMENT},
        "inspections": {"type": "array", "items": INSPECTION},
        "shipment_count": {"type": "integer", "minimum": 0},
        "contaminated_count": {"type": "integer", "minimum": 0},
        "inspection_count": {"type": "integer", "minimum": 0},
        "total_weight_kg": {"type": "number", "minimum": 0, "x-unit": "kg"},
    }
)

_LISTING: Final = Listing(
    "facilities",
    (
        same_text("location", "location", CITIES),
        equals("type"),
        bound("min_capacity", "capacity_tons >= ?"),
        bound("max_capacity", "capacity_tons <= ?"),
        one_of("ids", "id"),
    ),
    "name ASC, id ASC",
)


def _create(database: Database, given: Arguments) -> Json:
    with database.transaction():
        last = database.count(
            "SELECT coalesce(max(CAST(substr(id, 2) AS INTEGER)), 0) FROM facilities"
        )
        identity = f"F{last + 1}"
        made: Row = {name: given.get(name) for name in _CHANGEABLE}
        made["location"] = proper(str(given["location"]), CITIES)
        kept = _kept(made)
        database.execute(INSERT_FACILITY, (identity, *kept[:5], None, *kept[5:]))
        return {"data": dict(existing(database, "Facility", _SELECT, identity))}


def _update(database: Database, given: Arguments) -> Json:
    identity = str(given["id"])
    changes = {name: value for name, value in given.items() if name != "id"}
    if not changes:
        raise ToolError("There is nothing to change: no field is given besides the id.")
    with database.transaction():
        changed = existing(database, "Facility", _SELECT, identity) | changes
        database.execute(_UPDATE, (*_kept(changed), identity))
        return {"data": dict(existing(database, "Facility", _SELECT, identity))}


def _kept(fields: Row) -> tuple[SqlValue, ...]:
    def value(name: str) -> SqlValue:
        given = fields[name]
        if name.endswith("_waste_types"):
            return write_document(given if isinstance(given, list) else [])
        return given if isinstance(given, str | int | float) else None

    return tuple(value(name) for name in _CHANGEABLE)


def _get_with_activity(database: Database, given: Arguments) -> Json:
    identity = str(given["id"])
    days = given.get("days")
    facility = existing(database, "Facility", _SELECT, identity)
    last = database.today
    back = (days if isinstance(days, int) else _ACTIVITY_DAYS) - 1
    first = last - datetime.timedelta(days=back)
    values = (identity, first.isoformat(), last.isoformat())
    shipments = database.rows(
        "SELECT * FROM shipments WHERE facility_id = ? AND date BETWEEN ? AND ?"
        " ORDER BY date DESC, id DESC",
        values,
    )
    inspections = database.rows(
        "SELECT * FROM inspections WHERE facility_id = ? AND date BETWEEN ? AND ?"
        " ORDER BY date DESC, id DESC",
        values,
    )
    weights = [row["weight_kg"] for row in shipments]
    return {
        "data": {
            "facility": dict(facility),
            "date_from": first.isoformat(),
            "date_to": last.isoformat(),
            "shipments": [*shipments],
            "inspections": [*inspections],
            "shipment_count": len(shipments),
            "contaminated_count": sum(row["has_contaminants"] is True for row in shipments),
            "inspection_count": len(inspections),
            "total_weight_kg": sum(each for each in weights if isinstance(each, int | float)),
        }
    }


def days_back(default: int) -> Node:
    """Return the argument `days`: how many days up to today, which counts, are looked at."""
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": _MAX_DAYS,
        "default": default,
        "description": f"How many days are looked at, today included; {default} when left out.",
        "x-unit": "d",
        "x-synonyms": ["days"],
    }


def _writable() -> Node:
    return {
        "capacity_tons": _CAPACITY,
        "current_load_tons": _LOAD,
        "accepted_waste_types": _waste_types("The kinds of waste that it takes."),
        "rejected_waste_types": _waste_types("The kinds of waste that it refuses."),
        "contact_email": _EMAIL,
        "contact_phone": _PHONE,
        "operating_hours": _HOURS,
    }


OPERATIONS: Final = (
    Operation(
        "facilities_list",
        "Lists facilities by city, type and capacity, in the order of their names.",
        arguments(
            ENTITY,
            "list",
            {
                "location": _LOCATION,
                "type": _TYPE,
                "min_capacity": at_least("capacity_tons", "t", "capacity", "capacity", "size"),
                "max_capacity": at_most("capacity_tons", "t", "capacity", "capacity", "size"),
                "ids": hinted(
                    references(ENTITY, "The facilities themselves.", "F1"), {"x-field": "id"}
                ),
                "limit": limit(),
            },
            synonyms=_NOUNS,
            aliases=("facilities",),
            order="name asc",
        ),
        many(FACILITY),
        _LISTING.answer,
    ),
    Operation(
        "facilities_get",
        "Gets one facility by its id.",
        arguments(
            ENTITY,
            "get",
            {"id": reference(ENTITY, "The facility's id.", "F1")},
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(FACILITY),
        getter("Facility", _SELECT),
    ),
    Operation(
        "facilities_get_with_activity",
        "Gets one facility together with its shipments and inspections of the last days.",
        arguments(
            ENTITY,
            "report",
            {
                "id": reference(ENTITY, "The facility's id.", "F1"),
                "days": days_back(_ACTIVITY_DAYS),
            },
            synonyms=(
                "facility activity",
                "activity of facility",
                "activity at facility",
                "activity report",
                "facility with its activity",
                "recent activity",
            ),
            required=("id",),
        ),
        one(_ACTIVITY),
        _get_with_activity,
    ),
    Operation(
        "facilities_create",
        "Records a new facility and gives it an id.",
        arguments(
            ENTITY,
            "create",
            {"name": _NAME, "location": _LOCATION, "type": _TYPE, **_writable()},
            synonyms=_NOUNS,
            required=("name", "location", "type", "capacity_tons"),
        ),
        one(FACILITY),
        _create,
        Effects.WRITE,
    ),
    Operation(
        "facilities_update",
        "Changes the given fields of one facility and leaves the others as they are; its city is"
        " fixed.",
        arguments(
            ENTITY,
            "update",
            {
                "id": reference(ENTITY, "The facility to change.", "F1"),
                "name": _NAME,
                "type": _TYPE,
                **_writable(),
            },
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(FACILITY),
        _update,
        Effects.WRITE,
        idempotent=True,
    ),
)
