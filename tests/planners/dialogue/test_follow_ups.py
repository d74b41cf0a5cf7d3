"""What follow-ups do, one thing at a time."""

from __future__ import annotations

import pytest

from tests.planners.dialogue.conversation import Talk, calls
from tests.planners.planned import kind
from toolplan.path import Json
from toolplan.planners import Refusal

LAST_WEEK = {"date_from": "2025-10-05", "date_to": "2025-10-12"}
FACILITIES = "${facilities.data[*].id}"
SHIPMENTS = "${shipments.data[*].id}"


PARIS = ("facilities_list", {"location": "Paris"})
MUNICH = ("facilities_list", {"location": "Munich"})
HAMBURG = ("facilities_list", {"location": "Hamburg"})
TO_HAMBURG = ("shipments_list", {"destination": "Hamburg"})
INSPECTIONS = ("inspections_list", LAST_WEEK)


def strictly(things: str, column: str, sign: str, value: int) -> tuple[str, dict[str, Json]]:
    """Return the step that leaves out the bound itself."""
    return "sql", {
        "sql": f"SELECT * FROM {things} WHERE {column} {sign} {value}",
        "tables": {things: f"${{{things}.data}}"},
        "columns": {things: {column: "number"}},
    }


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        # other values
        ("Get facilities in Berlin", "the same for Paris", [PARIS]),
        (
            "Get facilities in Berlin",
            "the same for Munich and Hamburg",
            [MUNICH, HAMBURG],
        ),
        ("Get shipments to Berlin", "and Hamburg?", [TO_HAMBURG]),
        (
            "Get high-risk contaminants from last week",
            "critical instead",
            [("contaminants_list", {**LAST_WEEK, "risk_level": "critical"})],
        ),
        (
            "Get high-risk contaminants",
            "instead of high show low",
            [("contaminants_list", {"risk_level": "low"})],
        ),
        (
            "Get inspections by Anna Becker",
            "and rejected ones by Jonas Weber?",
            [("inspections_list", {"inspector": "Jonas Weber", "status": "rejected"})],
        ),
        (
            "Get shipments over 5 tonnes",
            "over 6 tonnes",
            [
                ("shipments_list", {"min_weight_kg": 6000}),
                strictly("shipments", "weight_kg", ">", 6000),
            ],
        ),
        (
            "Get facilities with capacity over 500 tonnes",
            "over 800 tonnes",
            [
                ("facilities_list", {"min_capacity": 800}),
                strictly("facilities", "capacity_tons", ">", 800),
            ],
        ),
        (
            "Get shipments over 5 tonnes",
            "under 3 tonnes instead",
            [
                ("shipments_list", {"max_weight_kg": 3000}),
                strictly("shipments", "weight_kg", "<", 3000),
            ],
        ),
        (
            "Contaminants found at F2",
            "at F4 too",
            [("contaminants_list", {"facility_id": ["F2", "F4"]})],
        ),
        (
            "Get shipments to Berlin with status pending",
            "or delivered",
            [
                ("shipments_list", {"destination": "Berlin", "status": "pending"}),
                ("shipments_list", {"destination": "Berlin", "status": "delivered"}),
            ],
        ),
        (
            "Get failed inspections",
            "processing ones",
            [("inspections_list", {"passed": False, "inspection_type": "processing"})],
        ),
        # more said of the same things
        (
            "Get shipments by EcoTrans",
            "and to Hamburg?",
            [("shipments_list", {"carrier": "EcoTrans", "destination": "Hamburg"})],
        ),
        (
            "Get shipments from Berlin facilities",
            "only those from Munich",
            [
                ("facilities_list", {"location": "Berlin"}),
                ("shipments_list", {"facility_id": FACILITIES, "origin": "Munich"}),
            ],
        ),
        (
            "Compare rejected and delivered shipments",
            "only from last week",
            [
                ("shipments_list", {"status": "rejected", **LAST_WEEK}),
                ("shipments_list", {"status": "delivered", **LAST_WEEK}),
            ],
        ),
        (
            "Get contaminated shipments and their contaminant details",
            "only the rejected shipments",
            [
                ("shipments_list", {"has_contaminants": True, "status": "rejected"}),
                ("contaminants_list", {"shipment_ids": SHIPMENTS}),
            ],
        ),
        (
            "Show disposal facilities",
            "in Leipzig or Dresden",
            [
                ("facilities_list", {"type": "disposal", "location": "Leipzig"}),
                ("facilities_list", {"type": "disposal", "location": "Dresden"}),
            ],
        ),
        (
            "Get pending inspections",
            "for shipment S20251012-001",
            [("inspections_list", {"status": "pending", "shipment_id": "S20251012-001"})],
        ),
        (
            "Get critical contaminants",
            "for the facilities in Berlin",
            [
                ("facilities_list", {"location": "Berlin"}),
                ("contaminants_list", {"risk_level": "critical", "facility_id": FACILITIES}),
            ],
        ),
        # less
        (
            "Get shipments by EcoTrans from last week",
            "without the dates",
            [("shipments_list", {"carrier": "EcoTrans"})],
        ),
        (
            "Get shipments in Berlin from last week",
            "without the facility",
            [("shipments_list", LAST_WEEK)],
        ),
        (
            "Get pending inspections for shipment S20251012-001",
            "drop the status filter",
            [("inspections_list", {"shipment_id": "S20251012-001"})],
        ),
        # other things
        ("Get shipments from last week", "what about inspections?", [INSPECTIONS]),
        (
            "Get inspections from last week",
            "which facilities were they at?",
            [
                ("inspections_list", LAST_WEEK),
                ("facilities_list", {"ids": "${inspections.data[*].facility_id}"}),
            ],
        ),
        (
            "What contaminants were found yesterday?",
            "which shipments had them?",
            [
                ("contaminants_list", {"date_from": "2025-10-11", "date_to": "2025-10-11"}),
                ("shipments_list", {"ids": "${contaminants.data[*].shipment_id}"}),
            ],
        ),
        (
            "Compare Berlin and Munich shipments",
            "their contaminants",
            [
                ("facilities_list", {"location": "Berlin"}),
                ("facilities_list", {"location": "Munich"}),
                ("shipments_list", {"facility_id": "${facilities_berlin.data[*].id}"}),
                ("shipments_list", {"facility_id": "${facilities_munich.data[*].id}"}),
                ("contaminants_list", {"shipment_ids": SHIPMENTS}),
                ("contaminants_list", {"shipment_ids": "${shipments_2.data[*].id}"}),
            ],
        ),
        (
            "Get yesterday's inspections",
            "same for contaminants",
            [("contaminants_list", {"date_from": "2025-10-11", "date_to": "2025-10-11"})],
        ),
        (
            "How many facilities are there in Berlin?",
            "list them",
            [("facilities_list", {"location": "Berlin"})],
        ),
        (
            "Get facilities in Berlin",
            "what shipments did they get this week?",
            [
                ("facilities_list", {"location": "Berlin"}),
                (
                    "shipments_list",
                    {
                        "date_from": "2025-10-06",
                        "date_to": "2025-10-12",
                        "facility_id": FACILITIES,
                    },
                ),
            ],
        ),
        (
            "Get facilities in Bremen",
            "what do they have in inspections this week?",
            [
                ("facilities_list", {"location": "Bremen"}),
                (
                    "inspections_list",
                    {
                        "date_from": "2025-10-06",
                        "date_to": "2025-10-12",
                        "facility_id": FACILITIES,
                    },
                ),
            ],
        ),
        (
            "Get inspections from last week",
            "which shipments?",
            [
                ("inspections_list", LAST_WEEK),
                ("shipments_list", {"ids": "${inspections.data[*].shipment_id}"}),
            ],
        ),
        (
            "Get shipments by EcoTrans",
            "status pending",
            [("shipments_list", {"carrier": "EcoTrans", "status": "pending"})],
        ),
        ("Get shipments from last week", "same again", [("shipments_list", LAST_WEEK)]),
    ],
)  # fmt: skip
def test_f000_40_a_follow_up_edits_the_plan_before(
    first: str, then: str, expected: list[tuple[Json, Json]]
) -> None:
    talk = Talk()
    talk.steps(first)
    assert calls(talk.steps(then)) == expected


@pytest.mark.parametrize(
    ("first", "then", "statement"),
    [
        (
            "Get shipments except the rejected ones",
            "the same for pending",
            "SELECT * FROM shipments WHERE status <> 'pending'",
        ),
        (
            "Get facilities more than 90 % full",
            "80 %",
            "SELECT * FROM facilities WHERE current_load_tons > 0.8 * capacity_tons",
        ),
        (
            "Get the 10 heaviest shipments",
            "the first 3",
            "SELECT * FROM shipments QUALIFY rank() OVER (ORDER BY weight_kg DESC NULLS LAST) <= 3"
            " ORDER BY weight_kg DESC NULLS LAST",
        ),
        (
            "Get shipments to Berlin",
            "what's the total weight?",
            "SELECT sum(weight_kg) AS total_weight_kg FROM shipments",
        ),
        (
            "Get shipments to Berlin, sorted by weight",
            "newest first",
            "SELECT * FROM shipments ORDER BY date DESC NULLS LAST",
        ),
        (
            "Total weight of plastic shipments",
            "by month",
            "SELECT CAST(date_trunc('month', date) AS DATE) AS month,"
            " sum(weight_kg) AS total_weight_kg FROM shipments GROUP BY month ORDER BY month",
        ),
        (
            "How many plastic shipments are there?",
            "by month",
            "SELECT CAST(date_trunc('month', date) AS DATE) AS month, count(*) AS shipments"
            " FROM shipments GROUP BY month ORDER BY month",
        ),
        (
            "Show shipments by month",
            "by week",
            "SELECT CAST(date_trunc('week', date) AS DATE) AS week, count(*) AS shipments"
            " FROM shipments GROUP BY week ORDER BY week",
        ),
    ],
)
def test_a_follow_up_changes_what_is_computed(first: str, then: str, statement: str) -> None:
    talk = Talk()
    before = calls(talk.steps(first))
    after = calls(talk.steps(then))
    assert after[0] == before[0]  # what is listed stays
    assert len(after) == 2
    arguments = after[1][1]
    assert isinstance(arguments, dict)
    assert arguments["sql"] == statement


@pytest.mark.parametrize(
    ("first", "then", "options"),
    [
        (
            "Get shipments from Hamburg to Berlin",
            "what about Munich?",
            ["Munich instead of Hamburg", "Munich instead of Berlin"],
        ),
        (
            "Get shipments from Berlin facilities",
            "and from Munich?",
            ["Munich instead of Berlin", "only those from Munich"],
        ),
        ("Get rejected shipments", "only the pending ones", ["pending instead of rejected"]),
        ("Get shipments over 5 tonnes", "only those under 3 tonnes", ["under 3 tonnes instead"]),
        ("Get contaminated shipments", "only the clean ones", ["clean instead"]),
        ("Get shipments from yesterday", "only those from last month", ["from last month instead"]),
        (
            "Get contaminated shipments and their contaminant details",
            "only rejected ones",
            ["only rejected shipments"],
        ),
        ("Get the 10 heaviest shipments", "only the rejected ones", ["yes", "no"]),
        ("Get 10 shipments", "how many of them were rejected?", ["yes", "no"]),
        ("Get facilities in Munich and Hamburg", "the same for Paris", []),
        ("Get shipments", "without the limit", []),
        ("Get random inspections", "without random", []),
        ("Get today's inspections", "tomorrow?", []),
        ("Get facilities in Munich and Hamburg", "limit 10", []),
        ("Get shipments", "without the carrier", []),
    ],
)
def test_what_cannot_be_sure_is_asked_with_options(
    first: str, then: str, options: list[str]
) -> None:
    """F003-22: nothing is guessed where two readings are left."""
    talk = Talk()
    talk.steps(first)
    asked = talk.asked_back(then)
    assert list(asked.options) == options
    assert asked.question


def test_a_limit_on_ordered_rows_is_cut_behind_the_order() -> None:
    talk = Talk()
    talk.steps("Get shipments sorted by weight")
    shown = str(talk.steps("limit 3"))
    # those that share the third place are all given
    assert "QUALIFY rank() OVER (ORDER BY weight_kg ASC NULLS LAST) <= 3 ORDER BY" in shown
    assert "'limit'" not in shown


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Get shipments from last week", "only the red ones"),
        ("Get facilities in Berlin", "mark them as closed"),
        ("Get shipment S20251012-001", "only the rejected ones"),
        ("Which carriers have the highest contamination rates?", "limit 5"),
        ("Which carriers have the highest contamination rates?", "only the contaminated ones"),
        ("Get the newest 5 shipments", "and the oldest?"),
        ("Get shipments from last week", "which carrier was that?"),
        ("Get shipments in Berlin", "compare with Munich"),
        ("Get shipments from last week", "the other way round"),
    ],
)
def test_what_is_not_understood_is_never_planned(first: str, then: str) -> None:
    """A limit is none of the rows behind figures; a share is none of what it counts (C-12)."""
    talk = Talk()
    talk.steps(first)
    assert kind(talk.say(then)) == "clarification"


def test_a_misspelt_follow_up_is_asked_about_and_resumed() -> None:
    talk = Talk()
    talk.steps("Get facilities in Berlin")
    assert "munich" in talk.asked_back("the same for Munch").options
    assert calls(talk.steps("Munich")) == [("facilities_list", {"location": "Munich"})]


def test_a_reply_that_continues_the_last_plan_fills_no_gap() -> None:
    talk = Talk()
    talk.steps("Get high-risk contaminants")
    talk.asked_back("the blurbish ones")
    assert calls(talk.steps("medium risk please")) == [
        ("contaminants_list", {"risk_level": "medium"})
    ]


def test_a_deletion_of_what_was_listed_is_refused() -> None:
    talk = Talk()
    talk.steps("Get facilities in Berlin")
    assert isinstance(talk.say("delete them"), Refusal)


def test_days_are_those_of_the_turn_that_said_them() -> None:
    talk = Talk()
    talk.steps("Get facilities in Berlin, then their shipments from last week")
    talk.today = "2025-10-13"
    document = talk.document("the same for Munich")
    assert calls(document["steps"])[1][1] == {**LAST_WEEK, "facility_id": FACILITIES}
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    notes = metadata["notes"]
    assert isinstance(notes, list)
    assert notes[-1] == "earlier dates were resolved on 2025-10-12"


def test_the_metadata_says_what_a_plan_was_made_from() -> None:
    talk = Talk()
    talk.steps("Get shipments in Berlin from last week")
    metadata = talk.document("and last month?")["metadata"]
    assert metadata == {
        "query": "and last month?",
        "reference_date": "2025-10-12",
        "planner": "dialogue",
        "follow_up_of": {
            "query": "Get shipments in Berlin from last week",
            "read_as": "Get shipments in Berlin last month",
        },
        "notes": ["last month = 2025-09-01 to 2025-09-30 (the calendar month before this one)"],
        "provenance": {
            "/steps/0/args/location": {"text": "in Berlin"},
            "/steps/1/args/date_from": {"text": "last month"},
            "/steps/1/args/date_to": {"text": "last month"},
            "/steps/1/args/facility_id": {"ref": "facilities"},
        },
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("the 3 heaviest loads of last month", "were they contaminated?"),
        ("the 3 heaviest loads of last month", "are they all contaminated?"),
        ("pending shipments of EcoTrans", "are they all contaminated?"),
        ("pending shipments of EcoTrans", "is the heaviest one contaminated?"),
        ("pending shipments of EcoTrans from last week", "with contaminants found this month"),
    ],
)
def test_what_is_said_of_a_result_chooses_no_other(asked: str, said: str) -> None:
    """The heaviest contaminated loads do not say whether the heaviest loads are contaminated."""
    talk = Talk()
    talk.steps(asked)
    talk.asked_back(said)


def test_an_identity_is_left_out_of_a_result() -> None:
    talk = Talk()
    talk.steps("pending shipments of EcoTrans")
    _, (tool, args) = calls(talk.steps("all but S5"))
    assert tool == "sql"
    assert isinstance(args, dict)
    assert "id <> 'S5'" in str(args["sql"])
