"""Inspections: looks at shipments, and the tools that list, get and record them."""

from __future__ import annotations

from typing import Final

from toolplan.demo.contaminants import RISK_LEVEL
from toolplan.demo.database import INSERT_INSPECTION, Database, write_document
from toolplan.demo.fields import (
    Node,
    arguments,
    date_range,
    hinted,
    limit,
    many,
    nullable,
    one,
    reference,
    references,
    row,
    texts,
)
from toolplan.demo.filters import Listing, bound, equals, one_of, same_text
from toolplan.demo.gazetteers import INSPECTORS
from toolplan.demo.operation import Operation, existing, getter
from toolplan.path import Json
from toolplan.tools import Arguments, Effects, ToolError

ENTITY: Final = "inspection"
_NOUNS: Final = (
    "audit",
    "check",
    "control",
    "examination",
    "inspection record",
    "inspection report",
    "inspection result",
)
_EXAMPLE: Final = "I20251012-001-1"
_SELECT: Final = "SELECT * FROM inspections WHERE id = ?"
_PASSED: Final = {"accepted": True, "rejected": False}

_STATUS: Final[Node] = {
    "type": "string",
    "enum": ["accepted", "rejected", "pending"],
    "description": "What the inspection decided.",
    "x-synonyms": ["state", "outcome", "result", "verdict"],
    "x-values": {
        "accepted": ["approved", "cleared"],
        "rejected": ["refused", "declined", "turned down"],
        "pending": ["undecided", "awaiting", "waiting", "outstanding"],
    },
}
_KIND: Final[Node] = {
    "type": "string",
    "enum": ["arrival", "processing", "departure", "random"],
    "description": "On what occasion it was made.",
    "x-synonyms": ["inspection type", "occasion"],
    "x-values": {"random": ["spot check", "spot"]},
}
_PASSING: Final[Node] = {
    "type": "boolean",
    "description": "Whether the shipment passed.",
    "x-values": {
        "true": ["passed", "that passed", "successful"],
        "false": ["failed", "that failed", "unsuccessful", "did not pass", "not passed"],
    },
}
_RISK: Final[Node] = {
    "type": "boolean",
    "description": "Whether a contaminant of high or critical risk was found.",
    "x-synonyms": ["risk contaminants"],
    "x-values": {
        "true": [
            "with risk contaminants",
            "with risky contaminants",
            "with high-risk contaminants",
            "with dangerous contaminants",
            "that found risk contaminants",
        ],
        "false": [
            "without risk contaminants",
            "without risky contaminants",
            "without high-risk contaminants",
            "without dangerous contaminants",
            "no risk contaminants",
        ],
    },
}
_FOLLOW_UP: Final[Node] = {
    "type": "boolean",
    "description": "Whether somebody has to come back to it.",
    "x-synonyms": ["follow-up", "follow up"],
    "x-values": {
        "true": [
            "requiring follow-up",
            "requiring a follow-up",
            "needing follow-up",
            "needing a follow-up",
            "with follow-up",
            "with a follow-up",
            "with a follow-up required",
            "follow-up required",
            "follow-up needed",
            "follow-up is required",
            "follow-up is needed",
            "require follow-up",
            "need a follow-up",
            "needs a follow-up",
            "needed a follow-up",
            "that need follow-up",
            "that need a follow-up",
        ],
        "false": [
            "without follow-up",
            "without a follow-up",
            "no follow-up",
            "no follow-up required",
            "no follow-up needed",
            "need no follow-up",
            "needs no follow-up",
            "needed no follow-up",
            "did not need a follow-up",
            "do not need a follow-up",
            "does not need a follow-up",
            "not requiring follow-up",
            "not needing follow-up",
        ],
    },
}
_INSPECTOR: Final[Node] = {
    "type": "string",
    "minLength": 1,
    "description": "Who made the inspection.",
    "x-kind": "person",
    "x-gazetteer": texts(INSPECTORS),
    "x-synonyms": ["examiner", "auditor"],
    "x-cue": ["by", "inspected by", "done by", "made by", "carried out by", "performed by"],
}
_DATE: Final[Node] = {
    "type": "string",
    "format": "date",
    "description": "The day of the inspection.",
    "x-synonyms": ["day"],
}
_DURATION: Final[Node] = {
    "type": "integer",
    "minimum": 0,
    "description": "How long it took, in minutes.",
    "x-unit": "min",
    "x-synonyms": ["duration"],
}
_DETECTED: Final[Node] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "The substances that were found.",
}
_NOTES: Final[Node] = {"type": "string", "description": "Remarks.", "x-kind": "text"}

INSPECTION: Final = row(
    ENTITY,
    {
        "id": {
            "type": "string",
            "pattern": "^I[0-9]{8}-[0-9]{3,6}-[0-9]{1,3}$",
            "description": "The inspection's identity.",
            "x-ref": "inspection.id",
        },
        "shipment_id": {
            "type": "string",
            "pattern": "^S[0-9]{8}-[0-9]{3,6}$",
            "description": "The shipment that was looked at.",
            "x-ref": "shipment.id",
            "x-synonyms": ["shipment"],
        },
        "facility_id": {
            "type": "string",
            "pattern": "^F[0-9]+$",
            "description": "The facility at which it took place.",
            "x-ref": "facility.id",
            "x-synonyms": ["facility", "site", "plant"],
        },
        "date": _DATE,
        "status": _STATUS,
        "inspector": nullable(_INSPECTOR),
        "inspection_type": _KIND,
        "duration_minutes": nullable(_DURATION),
        "passed": nullable(_PASSING),
        "follow_up_required": _FOLLOW_UP,
        "contaminants_detected": _DETECTED,
        "has_risk_contaminants": _RISK,
        "risk_assessment": nullable(
            {
                "type": "string",
                "enum": RISK_LEVEL["enum"],
                "description": "The highest risk that was found; null where nothing was.",
            }
        ),
        "notes": nullable(_NOTES),
    },
)

_LISTING: Final = Listing(
    "inspections",
    (
        bound("date_from", "date >= ?"),
        bound("date_to", "date <= ?"),
        equals("status"),
        one_of("facility_id", "facility_id"),
        one_of("shipment_id", "shipment_id"),
        equals("has_risk_contaminants"),
        same_text("inspector", "inspector"),
        equals("inspection_type"),
        equals("passed"),
        equals("follow_up_required"),
    ),
    "date DESC, id DESC",
)

_RISK_ORDER: Final = """
SELECT type, risk_level FROM contaminants WHERE shipment_id = ?
ORDER BY CASE risk_level WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2
ELSE 3 END, id
"""


def _create(database: Database, given: Arguments) -> Json:
    shipment_id = str(given["shipment_id"])
    with database.transaction():
        shipment = existing(
            database, "Shipment", "SELECT * FROM shipments WHERE id = ?", shipment_id
        )
        facility_id = str(shipment["facility_id"])
        if given.get("facility_id", facility_id) != facility_id:
            raise ToolError(f"Shipment {shipment_id!r} goes to facility {facility_id!r}.")
        found = database.rows(_RISK_ORDER, (shipment_id,))
        worst = str(found[0]["risk_level"]) if found else None
        status = str(given.get("status", "pending"))
        identity = _next_id(database, shipment_id)
        minutes = given.get("duration_minutes")
        database.execute(
            INSERT_INSPECTION,
            (
                identity,
                shipment_id,
                facility_id,
                str(given.get("date", database.today.isoformat())),
                status,
                _text(given.get("inspector")),
                str(given.get("inspection_type", "random")),
                minutes if isinstance(minutes, int) else None,
                _PASSED.get(status),
                given.get("follow_up_required", False) is True,
                write_document(list(dict.fromkeys(row["type"] for row in found))),
                worst in ("high", "critical"),
                worst,
                _text(given.get("notes")),
            ),
        )
        return {"data": dict(existing(database, "Inspection", _SELECT, identity))}


def _next_id(database: Database, shipment_id: str) -> str:
    taken = f"I{shipment_id[1:]}-"
    last = database.count(
        "SELECT coalesce(max(CAST(substr(id, ?) AS INTEGER)), 0) FROM inspections"
        " WHERE shipment_id = ?",
        (len(taken) + 1, shipment_id),
    )
    return f"{taken}{last + 1}"


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


OPERATIONS: Final = (
    Operation(
        "inspections_list",
        "Lists inspections of shipments by date, status, facility, shipment, risk, inspector and"
        " follow-up, the newest first.",
        arguments(
            ENTITY,
            "list",
            {
                **date_range("date", "an inspection took place"),
                "status": _STATUS,
                "facility_id": hinted(
                    references("facility", "The facility at which it was.", "F1"),
                    {"x-synonyms": ["facility", "site", "plant"], "x-field": "facility_id"},
                ),
                "shipment_id": hinted(
                    references("shipment", "The shipment that was looked at.", "S20251012-001"),
                    {"x-synonyms": ["shipment"], "x-field": "shipment_id"},
                ),
                "has_risk_contaminants": _RISK,
                "inspector": _INSPECTOR,
                "inspection_type": _KIND,
                "passed": _PASSING,
                "follow_up_required": _FOLLOW_UP,
                "limit": limit(),
            },
            synonyms=_NOUNS,
            aliases=("inspections",),
            order="date desc",
        ),
        many(INSPECTION),
        _LISTING.answer,
    ),
    Operation(
        "inspections_get",
        "Gets one inspection by its id.",
        arguments(
            ENTITY,
            "get",
            {"id": reference(ENTITY, "The inspection's id.", _EXAMPLE)},
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(INSPECTION),
        getter("Inspection", _SELECT),
    ),
    Operation(
        "inspections_create",
        "Records an inspection of a shipment, with the contaminants known of it.",
        arguments(
            ENTITY,
            "create",
            {
                "shipment_id": hinted(
                    reference("shipment", "The shipment that was looked at.", "S20251012-001"),
                    {"x-synonyms": ["shipment"], "x-cue": ["for", "of"]},
                ),
                "facility_id": hinted(
                    reference("facility", "Where; the shipment's when left out.", "F1"),
                    {"x-synonyms": ["facility", "site", "plant"], "x-cue": ["at"]},
                ),
                "date": hinted(
                    _DATE,
                    {"description": "Its day; the day of recording when left out."},
                ),
                "status": hinted(
                    _STATUS,
                    {
                        "description": "What it decided; pending when left out.",
                        "x-cue": ["as", "with status"],
                    },
                ),
                "inspector": _INSPECTOR,
                "inspection_type": _KIND,
                "duration_minutes": _DURATION,
                "follow_up_required": _FOLLOW_UP,
                "notes": hinted(_NOTES, {"x-cue": ["with the note", "with notes", "noting"]}),
            },
            synonyms=_NOUNS,
            required=("shipment_id",),
        ),
        one(INSPECTION),
        _create,
        Effects.WRITE,
    ),
)
