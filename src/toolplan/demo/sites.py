"""The facilities of the demo domain as they were built: what does not change from day to day."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Site(Struct, frozen=True):
    """A facility as it was built.

    `fill` is how full it is, as a fraction of its capacity, before chance adds a little; `accepts`
    and `refuses` are waste types.
    """

    id: str
    name: str
    city: str
    type: str
    capacity_tons: int
    fill: float
    accepts: tuple[str, ...]
    refuses: tuple[str, ...] = ()
    has_contact: bool = True
    operating_hours: str = "06:00-22:00"


_PACKAGING: Final = ("plastic", "paper", "glass", "metal")
_MIXED: Final = ("plastic", "paper", "metal", "textile", "electronics")
_RESIDUE: Final = ("construction", "hazardous", "organic", "textile")
_ALL_DAY: Final = "00:00-24:00"

SITES: Final = (
    Site("F1", "Berlin Nord", "Berlin", "sorting", 820, 0.62, (*_PACKAGING, "textile")),
    Site("F2", "Berlin Spree", "Berlin", "processing", 1450, 0.91, _MIXED, ("hazardous",)),
    Site("F3", "Berlin Süd", "Berlin", "disposal", 2100, 0.74, _RESIDUE, operating_hours=_ALL_DAY),
    Site("F4", "Hamburg Hafen", "Hamburg", "sorting", 960, 0.55, (*_PACKAGING, "organic")),
    Site("F5", "Hamburg Elbe", "Hamburg", "processing", 1700, 0.83, (*_MIXED, "construction")),
    Site("F6", "Munich Isar", "Munich", "sorting", 640, 0.68, _PACKAGING, ("hazardous",)),
    Site("F7", "Munich Ost", "Munich", "processing", 1200, 0.47, (*_MIXED, "organic")),
    Site("F8", "Cologne Rhein", "Cologne", "processing", 1350, 0.71, (*_MIXED, "construction")),
    Site(
        "F9", "Cologne West", "Cologne", "disposal", 1900, 0.93, _RESIDUE, operating_hours=_ALL_DAY
    ),
    Site("F10", "Frankfurt Main", "Frankfurt", "sorting", 720, 0.59, (*_PACKAGING, "electronics")),
    Site("F11", "Frankfurt Ost", "Frankfurt", "disposal", 1600, 0.66, (*_RESIDUE, "glass")),
    Site("F12", "Stuttgart Neckar", "Stuttgart", "processing", 1100, 0.98, _MIXED),
    Site("F13", "Leipzig Pleiße", "Leipzig", "sorting", 480, 0.52, (*_PACKAGING, "organic")),
    Site(
        "F14",
        "Dresden Elbtal",
        "Dresden",
        "processing",
        900,
        0.61,
        (*_MIXED, "hazardous"),
        ("hazardous", "organic"),  # accepted and refused at once: a fact to be found
    ),
    Site("F15", "Hannover Leine", "Hannover", "sorting", 560, 0.64, (*_PACKAGING, "organic")),
    Site("F16", "Hannover Messe", "Hannover", "processing", 1250, 0.79, (*_MIXED, "construction")),
    Site("F17", "Bremen Weser", "Bremen", "sorting", 430, 0.44, _PACKAGING, has_contact=False),
    Site("F18", "Nuremberg Pegnitz", "Nuremberg", "disposal", 1500, 0.58, _RESIDUE),
    Site("F19", "Dortmund Ruhr", "Dortmund", "processing", 980, 0.72, (*_MIXED, "glass")),
)
