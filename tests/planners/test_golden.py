"""The plans of the seeds, as corrected by C-01, C-02, C-03, C-12, C-13 and C-14."""

from __future__ import annotations

import asyncio
import json

import pytest

import toolplan
from tests.planners.planned import TODAY, arguments, demo, document, propose, statements
from toolplan.compiler import compile_plan
from toolplan.path import Json, select
from toolplan.planners import Draft, GroundedPlanner, Question

SHIPMENT_IDS = "${shipments.data[*].id}"
FACILITY_IDS = "${facilities.data[*].id}"

SEED_000: list[tuple[str, list[tuple[str, dict[str, Json]]]]] = [
    # F000-29
    (
        "Get shipments from last week",
        [("shipments_list", {"date_from": "2025-10-05", "date_to": "2025-10-12"})],
    ),
    # F000-30
    (
        "Show me contaminated shipments that were rejected",
        [("shipments_list", {"status": "rejected", "has_contaminants": True})],
    ),
    # F000-31
    ("Get facilities in Berlin", [("facilities_list", {"location": "Berlin"})]),
    # F000-32
    (
        "Get contaminated shipments and their contaminant details",
        [
            ("shipments_list", {"has_contaminants": True}),
            ("contaminants_list", {"shipment_ids": SHIPMENT_IDS}),
        ],
    ),
    # F000-33
    (
        "Analyse today's contaminants in Hannover",
        [
            ("facilities_list", {"location": "Hannover"}),
            (
                "contaminants_list",
                {
                    "facility_id": FACILITY_IDS,
                    "date_from": "2025-10-12",
                    "date_to": "2025-10-12",
                },
            ),
        ],
    ),
    # F000-34
    (
        "Get shipments, facilities, and inspections",
        [("shipments_list", {}), ("facilities_list", {}), ("inspections_list", {})],
    ),
    # F000-35
    (
        "Get facilities in Berlin, then their shipments, then check for contaminants",
        [
            ("facilities_list", {"location": "Berlin"}),
            ("shipments_list", {"facility_id": FACILITY_IDS}),
            ("contaminants_list", {"shipment_ids": SHIPMENT_IDS}),
        ],
    ),
    # F000-36
    (
        "Get contaminated shipments from Berlin facilities",
        [
            ("facilities_list", {"location": "Berlin"}),
            ("shipments_list", {"facility_id": FACILITY_IDS, "has_contaminants": True}),
        ],
    ),
    # F000-14
    (
        "Get shipments from October 1st to October 10th going to Hannover",
        [
            (
                "shipments_list",
                {
                    "date_from": "2025-10-01",
                    "date_to": "2025-10-10",
                    "destination": "Hannover",
                },
            )
        ],
    ),
    # F000-15
    (
        "Get shipments from 2025-10-01 to 2025-10-12 with limit 50",
        [
            (
                "shipments_list",
                {"date_from": "2025-10-01", "date_to": "2025-10-12", "limit": 50},
            )
        ],
    ),
]

SEED_003: list[tuple[str, list[tuple[str, dict[str, Json]]]]] = [
    # F003-23
    (
        "Get me shipments from last week",
        [("shipments_list", {"date_from": "2025-10-04", "date_to": "2025-10-11"})],
    ),
    # F003-24
    (
        "Get contaminated shipments from last week and show me the contaminant details",
        [
            (
                "shipments_list",
                {
                    "date_from": "2025-10-04",
                    "date_to": "2025-10-11",
                    "has_contaminants": True,
                },
            ),
            ("contaminants_list", {"shipment_ids": SHIPMENT_IDS}),
        ],
    ),
    # F003-25, with all facilities rather than the first (C-03)
    (
        "Analyze today's contaminants in Hannover",
        [
            ("facilities_list", {"location": "Hannover"}),
            (
                "contaminants_list",
                {
                    "facility_id": FACILITY_IDS,
                    "date_from": "2025-10-11",
                    "date_to": "2025-10-11",
                },
            ),
        ],
    ),
    # F003-26, where this week begins on Monday the 6th (C-01)
    (
        "From the inspections accepted this week, did we detect any high-risk contaminants?",
        [
            (
                "inspections_list",
                {"date_from": "2025-10-06", "date_to": "2025-10-11", "status": "accepted"},
            ),
            (
                "contaminants_list",
                {"shipment_ids": "${inspections.data[*].shipment_id}", "risk_level": "high"},
            ),
        ],
    ),
]


@pytest.mark.parametrize(("question", "plan"), SEED_000, ids=[each[0] for each in SEED_000])
def test_seed_000_plans(question: str, plan: list[tuple[str, dict[str, Json]]]) -> None:
    """F000-14, F000-15, F000-29 to F000-36: tools, arguments and data flow as in the seed."""
    assert arguments(question, today="2025-10-12") == plan


@pytest.mark.parametrize(("question", "plan"), SEED_003, ids=[each[0] for each in SEED_003])
def test_seed_003_plans(question: str, plan: list[tuple[str, dict[str, Json]]]) -> None:
    """F003-23 to F003-26."""
    assert arguments(question, today="2025-10-11") == plan


def test_a_rate_is_computed_over_all_rows() -> None:
    """F000-37 with C-12: no filter on the numerator, and one computing step."""
    question = "Which carriers have the highest contamination rates?"
    (listing, given), (tool, _) = arguments(question)
    assert (listing, given, tool) == ("shipments_list", {}, "sql")
    assert statements(question) == [
        "SELECT carrier, avg(CASE WHEN has_contaminants THEN 1.0 ELSE 0.0 END) AS rate"
        " FROM shipments WHERE carrier IS NOT NULL GROUP BY carrier ORDER BY rate DESC, carrier"
    ]


def test_the_rates_are_those_of_the_rows() -> None:
    """F000-37: what the computing step gives equals what the listed rows say."""

    async def results() -> tuple[Json, Json]:
        draft = propose("Which carriers have the highest contamination rates?")
        assert isinstance(draft, Draft)
        compiled = compile_plan(draft.text, tools=demo())
        assert compiled.plan is not None
        run = await toolplan.run(compiled.plan, demo())
        return select(run.steps["shipments"].output, ("data",)), select(
            run.steps["rates"].output, ("data",)
        )

    rows, rates = asyncio.run(results())
    found: dict[Json, list[bool]] = {}
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row["carrier"] is not None:
            found.setdefault(str(row["carrier"]), []).append(row["has_contaminants"] is True)
    expected = {carrier: sum(dirty) / len(dirty) for carrier, dirty in found.items()}
    given = {
        str(row["carrier"]): row["rate"]
        for row in (rates if isinstance(rates, list) else [])
        if isinstance(row, dict)
    }
    assert given == pytest.approx(expected)
    assert list(given.values()) == sorted(expected.values(), reverse=True)


def test_the_reading_of_a_week_is_shown() -> None:
    """C-06 and C-16: the question, the day and the chosen reading stand in the metadata."""
    metadata = document("Get shipments from last week")["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["query"] == "Get shipments from last week"
    assert metadata["reference_date"] == "2025-10-12"
    assert metadata["planner"] == "grounded"
    notes = metadata["notes"]
    assert isinstance(notes, list)
    assert any("2025-10-05" in str(note) for note in notes)


def test_weeks_may_be_those_of_the_calendar() -> None:
    """C-06: the profile is the planner's, and changes only what a week is."""
    calendar = GroundedPlanner(weeks="calendar")
    proposal = calendar.plan(Question("shipments from last week", TODAY), demo())
    assert isinstance(proposal, Draft)
    (step,) = json.loads(proposal.text)["steps"]
    assert step["args"] == {"date_from": "2025-09-29", "date_to": "2025-10-05"}


@pytest.mark.parametrize(
    "question",
    [
        "contaminants with high risk",
        "high-risk contaminants",
        "high risk contaminants",
        "High-Risk Contaminants",
    ],
)
def test_hyphens_and_spaces_do_not_matter(question: str) -> None:
    """C-18, F003-10."""
    assert arguments(question) == [("contaminants_list", {"risk_level": "high"})]


@pytest.mark.parametrize(
    "question", ["facilities in Berlin", "facilities at Berlin", "Berlin facilities"]
)
def test_a_place_may_stand_anywhere(question: str) -> None:
    """C-18."""
    assert arguments(question) == [("facilities_list", {"location": "Berlin"})]


def test_critical_is_critical() -> None:
    """C-18: not a synonym of high."""
    assert arguments("critical contaminants") == [("contaminants_list", {"risk_level": "critical"})]
