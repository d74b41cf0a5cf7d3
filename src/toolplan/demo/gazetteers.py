"""The names that occur in the demo domain, and the other spellings under which people know them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class City(Struct, frozen=True):
    """A city with facilities. `trade` is its share of shipments, relative to the others."""

    name: str
    latitude: float
    longitude: float
    trade: float
    spellings: tuple[str, ...] = ()


class Carrier(Struct, frozen=True):
    """A haulier. `share` is relative; `dirt` is its probability of a contaminated shipment."""

    name: str
    share: float
    dirt: float
    spellings: tuple[str, ...] = ()


class WasteType(Struct, frozen=True):
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
    spellings: tuple[str, ...] = ()


class ContaminantType(Struct, frozen=True):
    """A contaminant. From `limit_ppm` on a concentration is of medium risk; `share` is relative."""

    name: str
    share: float
    limit_ppm: float
    found_in: str
    spellings: tuple[str, ...] = ()


CITIES: Final = (
    City("Berlin", 52.52, 13.405, 1.5),
    City("Hamburg", 53.551, 9.994, 1.3),
    City("Munich", 48.137, 11.575, 1.2, ("München", "Muenchen")),
    City("Cologne", 50.938, 6.96, 1.0, ("Köln", "Koeln")),
    City("Frankfurt", 50.11, 8.682, 1.0, ("Frankfurt am Main",)),
    City("Stuttgart", 48.776, 9.183, 0.9),
    City("Leipzig", 51.34, 12.373, 0.7),
    City("Dresden", 51.05, 13.737, 0.7),
    City("Hannover", 52.376, 9.732, 0.9, ("Hanover",)),
    City("Bremen", 53.079, 8.802, 0.6),
    City("Nuremberg", 49.454, 11.077, 0.6, ("Nürnberg", "Nuernberg")),
    City("Dortmund", 51.514, 7.465, 0.7),
)

CARRIERS: Final = (
    Carrier("EcoTrans", 1.6, 0.13, ("EcoTrans GmbH", "Eco Trans")),
    Carrier("GreenHaul", 1.3, 0.08, ("GreenHaul GmbH", "Green Haul")),
    Carrier("CleanCargo", 1.0, 0.04, ("CleanCargo AG", "Clean Cargo")),
    Carrier("Rhein Logistik", 1.1, 0.17, ("Rhein Logistik GmbH", "RheinLogistik")),
    Carrier("NordWaste", 1.0, 0.27, ("NordWaste GmbH", "Nord Waste")),
    Carrier("Alpen Entsorgung", 0.8, 0.21, ("Alpen Entsorgung GmbH", "AlpenEntsorgung")),
    Carrier("CityRecycle", 0.9, 0.10, ("CityRecycle GmbH", "City Recycle")),
    Carrier("BulkMovers", 0.6, 0.36, ("BulkMovers GmbH", "Bulk Movers")),
)

WASTE_TYPES: Final = (
    WasteType("plastic", "15 01 02", 1.4, 1.0, 1900, 0.05, ("plastics",)),
    WasteType("paper", "15 01 01", 1.2, 0.4, 2600, -0.25, ("cardboard",)),
    WasteType("metal", "17 04 07", 1.0, 1.1, 4200, 0.0, ("metals", "scrap", "scrap metal")),
    WasteType("glass", "15 01 07", 0.8, 0.4, 3600, 0.05, ()),
    WasteType("organic", "20 01 08", 1.1, 0.6, 3000, 0.45, ("organics", "biowaste", "bio waste")),
    WasteType(
        "electronics", "16 02 14", 0.7, 1.5, 1300, -0.1, ("electronic", "e-waste", "electrical")
    ),
    WasteType("construction", "17 09 04", 0.9, 1.2, 5600, 0.35, ("rubble", "demolition")),
    WasteType("textile", "20 01 11", 0.5, 0.6, 1100, 0.0, ("textiles", "clothing")),
    WasteType("hazardous", "16 03 03", 0.4, 2.0, 1500, 0.0, ()),
)

CONTAMINANT_TYPES: Final = (
    ContaminantType("Lead", 1.5, 70, "cable scrap"),
    ContaminantType("Mercury", 0.9, 12, "fluorescent tube"),
    ContaminantType("Cadmium", 0.9, 20, "battery"),
    ContaminantType("Arsenic", 0.6, 25, "treated wood"),
    ContaminantType("Asbestos", 0.6, 40, "roof sheeting"),
    ContaminantType("Chromium", 0.8, 90, "plated part"),
    ContaminantType("PCB", 0.6, 30, "capacitor", ("PCBs", "polychlorinated biphenyls")),
    ContaminantType("Benzene", 0.5, 35, "solvent can"),
    ContaminantType("Dioxin", 0.3, 6, "ash", ("dioxins",)),
)

RISKS: Final = ("low", "medium", "high", "critical")
"""Levels of risk, in their order."""

INSPECTORS: Final = (
    "Anna Becker",
    "Jonas Weber",
    "Mehmet Yilmaz",
    "Clara Hoffmann",
    "Piotr Nowak",
    "Sabine Krause",
    "Lukas Brandt",
    "Elif Demir",
)

Spelled = City | Carrier | WasteType | ContaminantType


def spellings(entries: tuple[Spelled, ...]) -> dict[str, tuple[str, ...]]:
    """Return the other spellings of each name that has any."""
    return {entry.name: entry.spellings for entry in entries if entry.spellings}


def fold(text: str) -> str:
    """Return `text` as it is compared: without case, and without blanks at its ends."""
    return text.strip().casefold()


def proper(text: str, entries: tuple[Spelled, ...]) -> str:
    """Return the name of an entry that `text` means, `Munich` for `MÜNCHEN`.

    Else `text` as it is.
    """
    wanted = fold(text)
    for entry in entries:
        if wanted in map(fold, (entry.name, *entry.spellings)):
            return entry.name
    return text
