"""The rows of the demo domain: the events of a day are a pure function of seed and day.

Each shipment is drawn from a hash of seed, day and its number on that day, with all that belongs to
it: no row depends on another, nor on the day up to which rows are asked for.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, Generic, TypeVar

from msgspec import Struct

from toolplan_demo.domain import NAMES, RISKS, ContaminantType, WasteType

DAYS: Final = 731
"""Number of days that the data covers, the last one included: two years."""

LEVELS: Final = ("low", "medium", "high")

_DRAWS: Final = struct.Struct("<96I")
_HEAVY: Final = 0.004
_CONCENTRATED: Final = 0.02
_MOST_DIRT: Final = 0.9
_RISK_BOUNDS: Final = ((0.8, "low"), (1.7, "medium"), (3.6, "high"))
_BY_WEEKDAY: Final = (1.15, 1.15, 1.1, 1.1, 1.2, 0.75, 0.55)
_AT_THE_GATE: Final = ("arrival", "arrival", "random", "processing", "departure")
_Entry = TypeVar("_Entry")


class Shipment(Struct, frozen=True):
    """One delivery of waste to a facility; `date` is ISO 8601, the weight in kilograms."""

    id: str
    facility_id: str
    date: str
    status: str
    weight_kg: float
    has_contaminants: bool
    origin: str | None
    destination: str
    waste_type: str | None
    waste_code: str | None
    carrier: str | None
    composition_notes: str | None


class Contaminant(Struct, frozen=True):
    """A substance found in a shipment; `detected_at` is ISO 8601 in UTC."""

    id: str
    shipment_id: str
    facility_id: str
    type: str
    concentration_ppm: float
    risk_level: str
    detected_at: str
    waste_item_detected: str
    explosive_level: str
    so2_level: str
    hcl_level: str
    notes: str | None


class Inspection(Struct, frozen=True):
    """A look at a shipment; `contaminants_detected` names contaminant types."""

    id: str
    shipment_id: str
    facility_id: str
    date: str
    status: str
    inspector: str | None
    inspection_type: str
    duration_minutes: int | None
    passed: bool | None
    follow_up_required: bool
    contaminants_detected: tuple[str, ...]
    has_risk_contaminants: bool
    risk_assessment: str | None
    notes: str | None


class Delivery(Struct, frozen=True):
    """A shipment with the contaminants found in it and its inspections."""

    shipment: Shipment
    contaminants: tuple[Contaminant, ...]
    inspections: tuple[Inspection, ...]


class _Weighted(Generic[_Entry]):
    def __init__(self, entries: tuple[tuple[_Entry, float], ...]) -> None:
        total = sum(weight for _, weight in entries)
        self._entries = [entry for entry, _ in entries]
        self._bounds = list(accumulate(weight / total for _, weight in entries))

    def at(self, draw: float) -> _Entry:
        """Return the entry at `draw`, which is in [0, 1)."""
        return self._entries[min(bisect_right(self._bounds, draw), len(self._entries) - 1)]


_FROM: Final = _Weighted(tuple((city.name, city.trade) for city in NAMES.cities))
_BY: Final = _Weighted(tuple((carrier, carrier.share) for carrier in NAMES.carriers))
_FOUND: Final = _Weighted(tuple((kind, kind.share) for kind in NAMES.contaminant_types))
_TO: Final = {
    waste.name: _Weighted(
        tuple((site, site.capacity_tons) for site in NAMES.sites if waste.name in site.accepts)
    )
    for waste in NAMES.waste_types
}


def loads(seed: int) -> list[int]:
    """Return the load of each site in tons, which depends on `seed` alone."""
    draws = _draws(f"{seed}:facilities")
    return [round(site.capacity_tons * (site.fill + 0.06 * next(draws))) for site in NAMES.sites]


def deliveries(seed: int, day: datetime.date, rows: int) -> Iterator[Delivery]:
    """Yield the deliveries of `day`, at least one, of about `rows` in two years.

    The first of a day is contaminated and inspected. Fewer rows are the first ones of more.
    """
    season = math.cos((day.timetuple().tm_yday - 196) / 365 * 2 * math.pi)  # 1 in mid July
    kinds = _Weighted(
        tuple((kind, kind.share * (1 + kind.summer * season)) for kind in NAMES.waste_types)
    )
    noise = 0.8 + 0.4 * next(_draws(f"{seed}:{day}"))
    count = max(1, round(rows / DAYS * _BY_WEEKDAY[day.weekday()] * noise))
    for number in range(1, count + 1):
        yield _delivery(seed, day.isoformat(), number, kinds)


def _draws(key: str) -> Iterator[float]:
    """Yield 96 numbers in [0, 1) that depend on `key` alone."""
    digest = hashlib.shake_256(key.encode()).digest(_DRAWS.size)
    return (number / 2**32 for number in _DRAWS.unpack(digest))


def _delivery(seed: int, date: str, number: int, kinds: _Weighted[WasteType]) -> Delivery:
    draws = _draws(f"{seed}:{date}:{number}")
    waste, carrier = kinds.at(next(draws)), _BY.at(next(draws))
    site = _TO[waste.name].at(next(draws))
    is_dirty = next(draws) < min(_MOST_DIRT, carrier.dirt * waste.dirt) or number == 1
    shipment = Shipment(
        id=f"S{date.replace('-', '')}-{number:03d}",
        facility_id=site.id,
        date=date,
        status=_status(next(draws), is_dirty),
        weight_kg=_weight(waste, next(draws), next(draws)),
        has_contaminants=is_dirty,
        origin=_FROM.at(next(draws)),
        destination=site.city,
        waste_type=waste.name,
        waste_code=waste.code,
        carrier=carrier.name,
        composition_notes=None
        if (draw := next(draws)) > 0.3
        else f"about {round(70 + 90 * draw)} % {waste.name}, the rest mixed",
    )
    how_many = 1 + int(next(draws) * next(draws) * 3.2) if is_dirty else 0
    contaminants = tuple(_contaminant(shipment, n, draws) for n in range(1, how_many + 1))
    inspections: list[Inspection] = []
    if number == 1 or next(draws) <= (0.85 if contaminants else 0.4):
        inspections.append(_inspection(shipment, contaminants, 1, draws))
        if next(draws) < 0.08:
            inspections.append(_inspection(shipment, contaminants, 2, draws))
    return Delivery(shipment, contaminants, tuple(inspections))


def _status(draw: float, is_dirty: bool) -> str:
    if draw < (0.38 if is_dirty else 0.03):
        return "rejected"
    if draw > 0.94:
        return "pending"
    return "in_transit" if draw > 0.85 else "delivered"


def _weight(waste: WasteType, spread: float, luck: float) -> int:
    weight = waste.weight_kg * (0.4 + 1.2 * spread)
    if luck < _HEAVY:
        weight = 10_500 + 6_000 * spread
    return round(weight / 10) * 10


def _contaminant(shipment: Shipment, number: int, draws: Iterator[float]) -> Contaminant:
    kind = _FOUND.at(next(draws))
    strength = next(draws) + next(draws) + next(draws) - 1.5
    ratio = math.exp(1.5 * strength)
    if next(draws) < _CONCENTRATED:
        ratio *= 8
    minute = 360 + int(next(draws) * 900)
    second = int(next(draws) * 60)
    return Contaminant(
        id=f"C{shipment.id[1:]}-{number}",
        shipment_id=shipment.id,
        facility_id=shipment.facility_id,
        type=kind.name,
        concentration_ppm=round(ratio * kind.limit_ppm, 1),
        risk_level=next((risk for bound, risk in _RISK_BOUNDS if ratio < bound), "critical"),
        detected_at=f"{shipment.date}T{minute // 60:02d}:{minute % 60:02d}:{second:02d}Z",
        waste_item_detected=kind.found_in,
        explosive_level=_level(kind, "Benzene", next(draws)),
        so2_level=_level(kind, "Arsenic", next(draws)),
        hcl_level=_level(kind, "Dioxin", next(draws)),
        notes="measured twice" if next(draws) < 0.1 else None,
    )


def _level(kind: ContaminantType, typical: str, draw: float) -> str:
    raised = 0.5 if kind.name == typical else 0.0
    return LEVELS[min(2, int(draw * draw * 2.2 + raised))]


def _inspection(
    shipment: Shipment,
    contaminants: tuple[Contaminant, ...],
    number: int,
    draws: Iterator[float],
) -> Inspection:
    worst = max((RISKS.index(found.risk_level) for found in contaminants), default=None)
    status = _verdict(shipment.status, next(draws))
    return Inspection(
        id=f"I{shipment.id[1:]}-{number}",
        shipment_id=shipment.id,
        facility_id=shipment.facility_id,
        date=shipment.date,
        status=status,
        inspector=NAMES.inspectors[int(next(draws) * len(NAMES.inspectors))],
        inspection_type=_AT_THE_GATE[int(next(draws) * len(_AT_THE_GATE))],
        duration_minutes=15 + int(next(draws) * 60) + 10 * len(contaminants),
        passed=None if status == "pending" else status == "accepted",
        follow_up_required=status == "rejected" or (worst or 0) >= RISKS.index("high"),
        contaminants_detected=tuple(dict.fromkeys(found.type for found in contaminants)),
        has_risk_contaminants=worst is not None and worst >= RISKS.index("high"),
        risk_assessment=None if worst is None else RISKS[worst],
        notes="photos taken" if next(draws) < 0.15 else None,
    )


def _verdict(status: str, draw: float) -> str:
    match status:
        case "rejected":
            return "rejected" if draw < 0.94 else "pending"
        case "delivered":
            return "accepted" if draw < 0.96 else "rejected"
        case _:
            return "pending" if draw < 0.7 else "accepted"
