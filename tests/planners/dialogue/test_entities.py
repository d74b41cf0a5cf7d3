"""What a text speaks of (F003-10 as corrected by C-18), compared as sets."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planners.planned import demo
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dialogue import read_entities

KNOWN = compile_catalogue(demo())


def entities(text: str) -> set[str]:
    return set(read_entities(text, KNOWN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # F003-23 ... F003-26
        ("Get me shipments from last week", {"shipment"}),
        (
            "Get contaminated shipments from last week and show me the contaminant details",
            {"shipment", "contaminant"},
        ),
        ("Analyze today's contaminants in Hannover", {"contaminant", "location:Hannover"}),
        (
            "From the inspections accepted this week, did we detect any high-risk contaminants?",
            {"inspection", "contaminant", "status:accepted", "risk:high"},
        ),
        # F003-10
        ("the facility", {"facility"}),
        ("rejected, accepted and pending inspections", {
            "inspection", "status:rejected", "status:accepted", "status:pending"
        }),
        ("contamination of shipments", {"shipment", "contaminant"}),
        ("high risk contaminants", {"contaminant", "risk:high"}),
    ],
)  # fmt: skip
def test_f003_10_entities_of_the_seed(text: str, expected: set[str]) -> None:
    assert entities(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("high-risk contaminants", {"contaminant", "risk:high"}),
        ("HIGH RISK contaminants", {"contaminant", "risk:high"}),
        ("critical contaminants", {"contaminant", "risk:critical"}),
        ("contaminants at Berlin", {"contaminant", "location:Berlin"}),
        ("Hannover facilities", {"facility", "location:Hannover"}),
        ("facilities in Berlin and Munich", {"facility", "location:Berlin", "location:Munich"}),
        ("Lagerorte in München", {"location:Munich"}),
        ("facilities in Frankfurt am Main", {"facility", "location:Frankfurt"}),
        ("in a hurry", set[str]()),
    ],
)
def test_c_18_what_the_seed_missed(text: str, expected: set[str]) -> None:
    assert entities(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shipments to F1 by EcoTrans", {"shipment", "facility:F1", "carrier:EcoTrans"}),
        ("shipment S1", {"shipment", "shipment:S1"}),
        ("S20251012-001", {"shipment:S20251012-001"}),
        ("what is X-77?", {"id:X-77"}),
        ("lead in plastic", {"contaminant_type:Lead", "waste:plastic"}),
        ("sorting facilities", {"facility", "facility_type:sorting"}),
    ],
)
def test_identities_and_names_stand_behind_what_they_are(text: str, expected: set[str]) -> None:
    """F000-39: "location:Berlin", "facility:F1"."""
    assert entities(text) == expected


def test_times_are_entities_where_today_is_known() -> None:
    """2.7: the seed knew four phrases for times and kept all of them as one."""
    found = read_entities("shipments from last week", KNOWN, today=date(2025, 10, 12))
    assert found == ("shipment", "temporal:2025-10-05..2025-10-12")


def test_entities_come_in_the_order_of_the_text_each_once() -> None:
    found = read_entities("Berlin shipments, Berlin facilities, shipments", demo())
    assert found == ("location:Berlin", "shipment", "facility")


@given(st.text(max_size=80))
def test_any_text_has_entities_of_one_form(text: str) -> None:
    assert all(entity and not entity.startswith(":") for entity in entities(text))
