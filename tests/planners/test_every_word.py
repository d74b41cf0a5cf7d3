"""No word of a question is skipped: it is used, or asked about (table B of the findings)."""

from __future__ import annotations

from datetime import date

import pytest

from benchmarks.aggregates import Verdict, check_all
from tests.planners.planned import TODAY, arguments, document, propose
from toolplan.planners import Clarification

YEAR = "BETWEEN '2025-01-01' AND '2025-12-31'"

ANSWERED = {
    "top 3 facilities by critical contaminants in 2025": (
        "SELECT facility_id, count(*) AS n FROM contaminants WHERE risk_level = 'critical'"
        f" AND detected_at {YEAR} GROUP BY facility_id ORDER BY n DESC, facility_id LIMIT 3"
    ),
    "top 5 facilities by rejected inspections this year": (
        "SELECT facility_id, count(*) AS n FROM inspections WHERE status = 'rejected'"
        f" AND date {YEAR} GROUP BY facility_id ORDER BY n DESC, facility_id LIMIT 5"
    ),
    "top 5 inspectors by inspections": (
        "SELECT inspector, count(*) AS n FROM inspections WHERE inspector IS NOT NULL"
        " GROUP BY inspector ORDER BY n DESC, inspector LIMIT 5"
    ),
    "How many shipments were delivered to Hamburg in 2025?": (
        "SELECT count(*) FROM shipments WHERE status = 'delivered' AND destination = 'Hamburg'"
        f" AND date {YEAR}"
    ),
    "How many shipments were rejected at facilities in Berlin?": (
        "SELECT count(*) FROM shipments WHERE status = 'rejected' AND facility_id IN"
        " (SELECT id FROM facilities WHERE location = 'Berlin')"
    ),
    "Which waste type is contaminated most often?": (
        "SELECT waste_type, avg(has_contaminants) AS rate FROM shipments"
        " WHERE waste_type IS NOT NULL GROUP BY waste_type ORDER BY rate DESC LIMIT 1"
    ),
    "Which carrier is rejected most often?": (
        "SELECT carrier, avg(status = 'rejected') AS rate FROM shipments"
        " WHERE carrier IS NOT NULL GROUP BY carrier ORDER BY rate DESC LIMIT 1"
    ),
    "shipments under 450 kg": "SELECT id FROM shipments WHERE weight_kg < 450",
    "shipments of at most 450 kg": "SELECT id FROM shipments WHERE weight_kg <= 450",
    "contaminants above 200 ppm": "SELECT id FROM contaminants WHERE concentration_ppm > 200",
    "facilities with a capacity of more than 1700 t": (
        "SELECT id FROM facilities WHERE capacity_tons > 1700"
    ),
}


@pytest.mark.parametrize(("question", "statement"), ANSWERED.items(), ids=list(ANSWERED))
def test_the_answer_is_that_of_a_statement_on_the_same_data(question: str, statement: str) -> None:
    today = date.fromisoformat(TODAY)
    (checked,) = check_all([{"question": question, "sql": statement}], today, rows=1_500)
    assert checked.verdict is Verdict.RIGHT, checked.reason


ASKED = {
    "top 5 facilities": ["top"],
    "top 10 shipments": ["top"],
    "How much lead was found in the last 30 days?": ["How much"],
    "how many tonnes of mercury were detected this year": ["tonnes"],
    "Which carrier has contaminated shipments most often?": ["most often"],
    "rejected shipments of BlueFreight": ["BlueFreight"],
    "EcoHaul loads": ["EcoHaul"],
    "facilities in S40": ["S40"],
    "contaminated loads from last month and what happened to them": ["happened", "to them"],
    "shipments to Berlin and what came": ["came"],
    "inspections between the 3rd and": ["between", "the 3rd", "and"],
    "inspections between the 3rd": ["between", "the 3rd"],
    "shipments from Berlin or": ["or"],
}


@pytest.mark.parametrize(("question", "words"), ASKED.items(), ids=list(ASKED))
def test_what_is_not_used_is_asked_about(question: str, words: list[str]) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Clarification), proposal
    assert set(words) <= set(proposal.unexplained)


@pytest.mark.parametrize("question", ["rejected shipments of BlueFreight", "EcoHaul loads"])
def test_a_name_that_nobody_knows_is_offered_to_each_argument(question: str) -> None:
    """Each option is a question that is planned, and uses the name where it says."""
    proposal = propose(question)
    assert isinstance(proposal, Clarification)
    name = "BlueFreight" if "Blue" in question else "EcoHaul"
    assert f'Is "{name}" the origin, destination, waste type or carrier?' in proposal.question
    taken: list[str] = []
    for option in proposal.options:
        ((tool, given),) = arguments(option)
        assert tool == "shipments_list"
        assert isinstance(given, dict)
        taken.extend(argument for argument, value in given.items() if value == name)
    assert taken == ["origin", "destination", "waste_type", "carrier"]


def test_how_much_says_what_the_data_measure() -> None:
    proposal = propose("How much lead was found in the last 30 days?")
    assert isinstance(proposal, Clarification)
    assert 'The data have only concentration in ppm of "lead".' in proposal.question


def test_each_place_and_type_keeps_to_its_own_thing() -> None:
    assert arguments("sorting plants in Leipzig, processing ones in Dresden") == [
        ("facilities_list", {"location": "Leipzig", "type": "sorting"}),
        ("facilities_list", {"location": "Dresden", "type": "processing"}),
    ]
    assert arguments("plastic shipments from Berlin, metal ones to Hamburg") == [
        ("shipments_list", {"waste_type": "plastic", "origin": "Berlin"}),
        ("shipments_list", {"waste_type": "metal", "destination": "Hamburg"}),
    ]
    assert arguments("shipments to Berlin, only rejected ones") == [
        ("shipments_list", {"status": "rejected", "destination": "Berlin"}),
    ]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "is there a pending inspection concerning S31?",
            {"status": "pending", "shipment_id": "S31"},
        ),
        ("rejected inspections of S20251012-003", {
            "status": "rejected", "shipment_id": "S20251012-003",
        }),
        ("inspections at F3 that are pending", {"status": "pending", "facility_id": "F3"}),
    ],
)  # fmt: skip
def test_an_identity_is_that_of_the_thing_it_looks_like(
    question: str, wanted: dict[str, str]
) -> None:
    assert arguments(question) == [("inspections_list", wanted)]


def test_a_doer_is_not_a_state() -> None:
    question = "shipments delivered by BulkMovers"
    assert arguments(question) == [("shipments_list", {"carrier": "BulkMovers"})]
    metadata = document(question)["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["notes"] == ['"delivered by" = by whom, whatever the status']
