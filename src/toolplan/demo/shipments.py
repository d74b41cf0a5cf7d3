"""Shipments: what they are, and the tools that list, get, make and change them."""

from __future__ import annotations

from typing import Final

from toolplan.demo.contaminants import CONTAMINANT
from toolplan.demo.database import INSERT_SHIPMENT, Database, Row, SqlValue
from toolplan.demo.fields import (
    Node,
    arguments,
    at_least,
    at_most,
    date_range,
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
from toolplan.demo.gazetteers import CARRIERS, CITIES, WASTE_TYPES, proper
from toolplan.demo.operation import Operation, existing, getter
from toolplan.path import Json
from toolplan.tools import Arguments, Effects, ToolError

ENTITY: Final = "shipment"
_NOUNS: Final = (
    "delivery",
    "waste delivery",
    "waste shipment",
    "waste load",
    "consignment",
    "truckload",
    "transport",
    "load",
    "cargo",
    "freight",
    "what came in",
    "what arrived",
)
_EXAMPLE: Final = "S20251012-001"
_SELECT: Final = "SELECT * FROM shipments WHERE id = ?"
_CHANGEABLE: Final = (
    "facility_id",
    "date",
    "status",
    "weight_kg",
    "has_contaminants",
    "origin",
    "waste_type",
    "waste_code",
    "carrier",
    "composition_notes",
)
_KNOWN: Final = {"origin": CITIES, "waste_type": WASTE_TYPES, "carrier": CARRIERS}
_UPDATE: Final = """
UPDATE shipments SET facility_id = ?, date = ?, status = ?, weight_kg = ?, has_contaminants = ?,
origin = ?, waste_type = ?, waste_code = ?, carrier = ?, composition_notes = ?, destination = ?
WHERE id = ?
"""

STATUS: Final[Node] = {
    "type": "string",
    "enum": ["pending", "in_transit", "delivered", "rejected"],
    "description": "How far the shipment is.",
    "x-synonyms": ["state"],
    "x-values": {
        "pending": ["waiting", "awaiting", "outstanding", "not yet sent"],
        "in_transit": [
            "in transit",
            "on the way",
            "on its way",
            "on their way",
            "under way",
            "underway",
            "en route",
            "on the road",
            "on the move",
        ],
        "delivered": ["arrived", "completed"],
        "rejected": ["refused", "turned away", "declined", "sent back"],
    },
}
HAS_CONTAMINANTS: Final[Node] = {
    "type": "boolean",
    "description": "Whether contaminants were found in the shipment.",
    "x-synonyms": ["contamination", "contaminated"],
    "x-values": {
        "true": [
            "contaminated",
            "with contaminants",
            "with contamination",
            "containing contaminants",
            "that have contaminants",
            "has contaminants",
            "dirty",
        ],
        "false": [
            "clean",
            "uncontaminated",
            "non-contaminated",
            "not contaminated",
            "without contaminants",
            "without contamination",
            "without any contaminants",
            "without any contamination",
            "no contaminants",
            "no contamination",
            "free of contaminants",
            "free of contamination",
            "contaminant-free",
            "contamination-free",
        ],
    },
}
_DATE: Final[Node] = {
    "type": "string",
    "format": "date",
    "description": "The day of the shipment.",
    "x-synonyms": ["day"],
}
_WEIGHT: Final[Node] = {
    "type": "number",
    "exclusiveMinimum": 0,
    "description": "Weight in kilograms.",
    "x-unit": "kg",
    "x-synonyms": ["weight", "tonnage", "mass", "volume", "heavy"],
}
_WASTE_TYPE: Final = named(
    "The kind of waste.",
    "name",
    WASTE_TYPES,
    {
        "x-synonyms": ["waste", "kind of waste", "material"],
        "x-cue": ["of", "carrying", "containing", "loaded with"],
    },
)
_CARRIER: Final = named(
    "The company that carries the shipment.",
    "organisation",
    CARRIERS,
    {
        "x-synonyms": ["haulier", "hauler", "transporter", "transport company"],
        "x-cue": [
            "by",
            "handled by",
            "carried by",
            "transported by",
            "hauled by",
            "delivered by",
            "with carrier",
        ],
    },
)
_ORIGIN: Final = named(
    "The city from which the shipment comes.",
    "place",
    CITIES,
    {
        "x-role": "from",
        "x-synonyms": ["source", "sender"],
        "x-cue": ["from", "coming from", "sent from", "originating in", "originating from"],
    },
)
_DESTINATION: Final = named(
    "The city to which the shipment goes: the one of its facility.",
    "place",
    CITIES,
    {
        "x-role": "to",
        "x-synonyms": ["target"],
        "x-cue": [
            "to",
            "going to",
            "bound for",
            "headed to",
            "heading to",
            "headed for",
            "destined for",
            "sent to",
            "delivered to",
            "into",
        ],
    },
)
_WASTE_CODE: Final[Node] = {
    "type": "string",
    "description": "The code in the European list of wastes, such as 17 04 07.",
    "x-kind": "code",
}
_NOTES: Final[Node] = {
    "type": "string",
    "description": "What is known of the composition.",
    "x-kind": "text",
}

SHIPMENT: Final = row(
    ENTITY,
    {
        "id": {
            "type": "string",
            "pattern": "^S[0-9]{8}-[0-9]{3,6}$",
            "description": "The shipment's identity.",
            "x-ref": "shipment.id",
        },
        "facility_id": {
            "type": "string",
            "pattern": "^F[0-9]+$",
            "description": "The facility to which the shipment goes.",
            "x-ref": "facility.id",
            "x-synonyms": ["facility", "site", "plant"],
        },
        "date": _DATE,
        "status": STATUS,
        "weight_kg": _WEIGHT,
        "has_contaminants": HAS_CONTAMINANTS,
        "origin": nullable(_ORIGIN),
        "destination": _DESTINATION,
        "waste_type": nullable(_WASTE_TYPE),
        "waste_code": nullable(_WASTE_CODE),
        "carrier": nullable(_CARRIER),
        "composition_notes": nullable(_NOTES),
    },
)
_WITH_CONTAMINANTS: Final = record(
    {
        "shipment": SHIPMENT,
        "contaminants": {"type": "array", "items": CONTAMINANT},
        "contaminant_count": {"type": "integer", "minimum": 0},
    }
)

_LISTING: Final = Listing(
    "shipments",
    (
        bound("date_from", "date >= ?"),
        bound("date_to", "date <= ?"),
        one_of("facility_id", "facility_id"),
        equals("status"),
        equals("has_contaminants"),
        same_text("waste_type", "waste_type", WASTE_TYPES),
        same_text("carrier", "carrier", CARRIERS),
        same_text("origin", "origin", CITIES),
        same_text("destination", "destination", CITIES),
        one_of("ids", "id"),
        bound("min_weight_kg", "weight_kg >= ?"),
        bound("max_weight_kg", "weight_kg <= ?"),
    ),
    "date DESC, id DESC",
)


def _create(database: Database, given: Arguments) -> Json:
    with database.transaction():
        site = _facility(database, given["facility_id"])
        date = str(given.get("date", database.today.isoformat()))
        made: Row = dict.fromkeys(_CHANGEABLE)
        made |= _spelled(given) | {
            "date": date,
            "status": given.get("status", "pending"),
            "has_contaminants": given.get("has_contaminants", False),
        }
        identity = _next_id(database, date)
        database.execute(INSERT_SHIPMENT, _values(identity, made, site))
        return {"data": dict(existing(database, "Shipment", _SELECT, identity))}


def _update(database: Database, given: Arguments) -> Json:
    identity = str(given["id"])
    changes = {name: value for name, value in _spelled(given).items() if name != "id"}
    if not changes:
        raise ToolError("There is nothing to change: no field is given besides the id.")
    with database.transaction():
        changed = existing(database, "Shipment", _SELECT, identity) | changes
        site = _facility(database, changed["facility_id"])
        fields = [_kept(changed[name]) for name in _CHANGEABLE]
        database.execute(_UPDATE, (*fields, str(site["location"]), identity))
        return {"data": dict(existing(database, "Shipment", _SELECT, identity))}


def _get_with_contaminants(database: Database, given: Arguments) -> Json:
    identity = str(given["id"])
    shipment = existing(database, "Shipment", _SELECT, identity)
    found = database.rows(
        "SELECT * FROM contaminants WHERE shipment_id = ? ORDER BY detected_at DESC, id DESC",
        (identity,),
    )
    return {
        "data": {
            "shipment": dict(shipment),
            "contaminants": [*found],
            "contaminant_count": len(found),
        }
    }


def _spelled(given: Arguments) -> Row:
    """Return `given` with known names as the data spells them, so that filters find them again."""
    return {
        name: proper(value, _KNOWN[name]) if isinstance(value, str) and name in _KNOWN else value
        for name, value in given.items()
    }


def _facility(database: Database, identity: Json) -> Row:
    sql = "SELECT id, location FROM facilities WHERE id = ?"
    return existing(database, "Facility", sql, str(identity))


def _next_id(database: Database, date: str) -> str:
    day = f"S{date.replace('-', '')}-"
    last = database.count(
        "SELECT coalesce(max(CAST(substr(id, 11) AS INTEGER)), 0) FROM shipments"
        " WHERE id >= ? AND id < ?",
        (day, f"{day}A"),
    )
    return f"{day}{last + 1:03d}"


def _values(identity: str, made: Row, site: Row) -> tuple[SqlValue, ...]:
    columns = (*_CHANGEABLE[:6], "destination", *_CHANGEABLE[6:])
    complete = {**made, "destination": site["location"]}
    return (identity, *(_kept(complete[name]) for name in columns))


def _kept(value: Json) -> SqlValue:
    return value if isinstance(value, str | int | float) else None


def _writable() -> Node:
    return {
        "facility_id": hinted(
            reference("facility", "The facility to which the shipment goes.", "F1"),
            {"x-synonyms": ["facility", "site", "plant"], "x-cue": ["to", "for"]},
        ),
        "date": _DATE,
        "status": {**STATUS, "x-cue": ["to", "as"]},
        "weight_kg": _WEIGHT,
        "has_contaminants": HAS_CONTAMINANTS,
        "origin": _ORIGIN,
        "waste_type": _WASTE_TYPE,
        "waste_code": _WASTE_CODE,
        "carrier": _CARRIER,
        "composition_notes": _NOTES,
    }


OPERATIONS: Final = (
    Operation(
        "shipments_list",
        "Lists shipments of waste by date, facility, status, contamination, waste type, carrier,"
        " way and weight, the newest first.",
        arguments(
            ENTITY,
            "list",
            {
                **date_range("date", "a shipment took place"),
                "facility_id": hinted(
                    references("facility", "The facility it goes to.", "F1"),
                    {"x-synonyms": ["facility", "site", "plant"], "x-field": "facility_id"},
                ),
                "status": STATUS,
                "has_contaminants": HAS_CONTAMINANTS,
                "waste_type": _WASTE_TYPE,
                "carrier": _CARRIER,
                "origin": _ORIGIN,
                "destination": _DESTINATION,
                "ids": hinted(
                    references(ENTITY, "The shipments themselves.", _EXAMPLE), {"x-field": "id"}
                ),
                "min_weight_kg": at_least("weight_kg", "kg", "weight", "weight", "tonnage"),
                "max_weight_kg": at_most("weight_kg", "kg", "weight", "weight", "tonnage"),
                "limit": limit(),
            },
            synonyms=_NOUNS,
            aliases=("shipments",),
            order="date desc",
        ),
        many(SHIPMENT),
        _LISTING.answer,
    ),
    Operation(
        "shipments_get",
        "Gets one shipment by its id.",
        arguments(
            ENTITY,
            "get",
            {"id": reference(ENTITY, "The shipment's id.", _EXAMPLE)},
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(SHIPMENT),
        getter("Shipment", _SELECT),
    ),
    Operation(
        "shipments_get_with_contaminants",
        "Gets one shipment together with all that was found in it.",
        arguments(
            ENTITY,
            "report",
            {"id": reference(ENTITY, "The shipment's id.", _EXAMPLE)},
            synonyms=(
                "contaminant report",
                "shipment with its contaminants",
                "shipment with all its contaminants",
                "shipment together with its contaminants",
            ),
            required=("id",),
        ),
        one(_WITH_CONTAMINANTS),
        _get_with_contaminants,
    ),
    Operation(
        "shipments_create",
        "Records a new shipment and gives it an id; its destination is the facility's city.",
        arguments(
            ENTITY,
            "create",
            _writable(),
            synonyms=_NOUNS,
            required=("facility_id", "weight_kg"),
        ),
        one(SHIPMENT),
        _create,
        Effects.WRITE,
    ),
    Operation(
        "shipments_update",
        "Changes the given fields of one shipment and leaves the others as they are.",
        arguments(
            ENTITY,
            "update",
            {"id": reference(ENTITY, "The shipment to change.", _EXAMPLE), **_writable()},
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(SHIPMENT),
        _update,
        Effects.WRITE,
        idempotent=True,
    ),
)
