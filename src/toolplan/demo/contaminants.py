"""Contaminants: what was found in shipments, and the tools that list and get them."""

from __future__ import annotations

from typing import Final

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
    reference,
    references,
    row,
)
from toolplan.demo.filters import Listing, bound, equals, one_of, same_text, to_end_of_day
from toolplan.demo.gazetteers import CONTAMINANT_TYPES
from toolplan.demo.operation import Operation, getter

ENTITY: Final = "contaminant"
_NOUNS: Final = (
    "pollutant",
    "impurity",
    "toxin",
    "contaminant detail",
    "contamination detail",
    "contamination record",
    "contamination finding",
    "contamination incident",
    "finding",
    "detection",
    "what was found",
    "what was detected",
    "what was discovered",
    "substance",
    "harmful substance",
)
_EXAMPLE: Final = "C20251012-001-1"

RISK_LEVEL: Final[Node] = {
    "type": "string",
    "enum": ["low", "medium", "high", "critical"],
    "description": "How dangerous it is.",
    "x-synonyms": ["risk", "danger", "severity"],
    "x-values": {
        "low": ["low-risk", "low risk", "harmless"],
        "medium": ["medium-risk", "medium risk", "moderate"],
        "high": ["high-risk", "high risk", "dangerous", "risky"],
        "critical": ["critical-risk", "critical risk", "extremely dangerous"],
    },
}
_TYPE: Final = named(
    "The substance.",
    "name",
    CONTAMINANT_TYPES,
    {"x-synonyms": ["substance", "kind", "contaminant type"], "x-field": "type"},
)
_CONCENTRATION: Final[Node] = {
    "type": "number",
    "minimum": 0,
    "description": "Concentration in parts per million.",
    "x-unit": "ppm",
    "x-synonyms": ["concentration"],
}


def _level(of: str) -> Node:
    return {"type": "string", "enum": ["low", "medium", "high"], "description": f"Level of {of}."}


CONTAMINANT: Final = row(
    ENTITY,
    {
        "id": {
            "type": "string",
            "pattern": "^C[0-9]{8}-[0-9]{3,6}-[0-9]{1,3}$",
            "description": "The contaminant's identity.",
            "x-ref": "contaminant.id",
        },
        "shipment_id": {
            "type": "string",
            "pattern": "^S[0-9]{8}-[0-9]{3,6}$",
            "description": "The shipment in which it was found.",
            "x-ref": "shipment.id",
            "x-synonyms": ["shipment"],
        },
        "facility_id": {
            "type": "string",
            "pattern": "^F[0-9]+$",
            "description": "The facility at which it was found.",
            "x-ref": "facility.id",
            "x-synonyms": ["facility", "site", "plant"],
        },
        "type": _TYPE,
        "concentration_ppm": _CONCENTRATION,
        "risk_level": RISK_LEVEL,
        "detected_at": {
            "type": "string",
            "format": "date-time",
            "description": "When it was found, in UTC.",
            "x-synonyms": ["day", "date", "time", "detection"],
        },
        "waste_item_detected": nullable(
            {"type": "string", "description": "The thing it was found in or on.", "x-kind": "text"}
        ),
        "explosive_level": nullable(_level("explosive gas")),
        "so2_level": nullable(_level("sulphur dioxide")),
        "hcl_level": nullable(_level("hydrogen chloride")),
        "notes": nullable({"type": "string", "description": "Remarks.", "x-kind": "text"}),
    },
)

_LISTING: Final = Listing(
    "contaminants",
    (
        one_of("shipment_ids", "shipment_id"),
        one_of("facility_id", "facility_id"),
        bound("date_from", "detected_at >= ?"),
        to_end_of_day("date_to", "detected_at"),
        same_text("type", "type", CONTAMINANT_TYPES),
        equals("risk_level"),
        bound("min_concentration_ppm", "concentration_ppm >= ?"),
        bound("max_concentration_ppm", "concentration_ppm <= ?"),
    ),
    "detected_at DESC, id DESC",
)

OPERATIONS: Final = (
    Operation(
        "contaminants_list",
        "Lists contaminants found in shipments by shipment, facility, time of detection, substance,"
        " risk and concentration, the newest first.",
        arguments(
            ENTITY,
            "list",
            {
                "shipment_ids": hinted(
                    references("shipment", "The shipment in which it was found.", "S20251012-001"),
                    {"x-synonyms": ["shipment"], "x-field": "shipment_id"},
                ),
                "facility_id": hinted(
                    references("facility", "The facility at which it was found.", "F1"),
                    {"x-synonyms": ["facility", "site", "plant"], "x-field": "facility_id"},
                ),
                **date_range("detected_at", "it was found"),
                "type": _TYPE,
                "risk_level": RISK_LEVEL,
                "min_concentration_ppm": at_least(
                    "concentration_ppm", "ppm", "concentration", "concentration"
                ),
                "max_concentration_ppm": at_most(
                    "concentration_ppm", "ppm", "concentration", "concentration"
                ),
                "limit": limit(),
            },
            synonyms=_NOUNS,
            aliases=("contaminants-detected", "contaminants_detected", "contaminants"),
            order="detected_at desc",
        ),
        many(CONTAMINANT),
        _LISTING.answer,
    ),
    Operation(
        "contaminants_get",
        "Gets one contaminant by its id.",
        arguments(
            ENTITY,
            "get",
            {"id": reference(ENTITY, "The contaminant's id.", _EXAMPLE)},
            synonyms=_NOUNS,
            required=("id",),
        ),
        one(CONTAMINANT),
        getter("Contaminant", "SELECT * FROM contaminants WHERE id = ?"),
    ),
)
