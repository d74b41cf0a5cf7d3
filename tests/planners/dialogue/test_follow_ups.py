"""What follow-ups do, one thing at a time."""

from __future__ import annotations

import json

import pytest

from tests.planners.dialogue.conversation import DIALOGUES, Talk
from tests.planners.planned import kind, propose
from toolplan.path import Json
from toolplan.plan import Plan, Ref, map_refs
from toolplan.plan_json import load
from toolplan.planners import Clarification, Draft, Refusal

LAST_WEEK = {"date_from": "2025-10-05", "date_to": "2025-10-12"}
FACILITIES = "${facilities.data[*].id}"
SHIPMENTS = "${shipments.data[*].id}"


def calls(steps: Json) -> list[tuple[Json, Json]]:
    """Give tool and arguments of each step."""
    assert isinstance(steps, list)
    return [(step["tool"], step.get("args", {})) for step in steps if isinstance(step, dict)]


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        # other values
        ("Get facilities in Berlin", "the same for Paris", [("facilities_list", {"location": "Paris"})]),
        (
            "Get facilities in Berlin",
            "the same for Munich and Hamburg",
            [("facilities_list", {"location": "Munich"}), ("facilities_list", {"location": "Hamburg"})],
        ),
        ("Get shipments to Berlin", "and Hamburg?", [("shipments_list", {"destination": "Hamburg"})]),
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
        ("Get shipments over 5 tonnes", "over 6 tonnes", [("shipments_list", {"min_weight_kg": 6000})]),
        (
            "Get facilities with capacity over 500 tonnes",
            "over 800 tonnes",
            [("facilities_list", {"min_capacity": 800})],
        ),
        (
            "Get shipments over 5 tonnes",
            "under 3 tonnes instead",
            [("shipments_list", {"max_weight_kg": 3000})],
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
        # other things
        ("Get shipments from last week", "what about inspections?", [("inspections_list", LAST_WEEK)]),
        (
            "Get inspections from last week",
            "which facilities were they at?",
            [
                ("inspections_list", LAST_WEEK),
                ("facilities_list", {"ids": "${inspections.data[*].facility_id}"}),
            ],
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


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Get shipments from last week", "only the red ones"),
        ("Get facilities in Berlin", "mark them as closed"),
        ("Get shipment S20251012-001", "only the rejected ones"),
        ("Which carriers have the highest contamination rates?", "limit 5"),
        ("Which carriers have the highest contamination rates?", "only the contaminated ones"),
        ("Get shipments sorted by weight", "limit 3"),
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


def test_a_reply_that_goes_on_with_the_last_plan_fills_no_gap() -> None:
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


def test_days_are_those_of_the_turn_that_told_them() -> None:
    talk = Talk()
    talk.steps("Get facilities in Berlin, then their shipments from last week")
    talk.today = "2025-10-13"
    document = talk.document("the same for Munich")
    assert calls(document["steps"])[1][1] == {**LAST_WEEK, "facility_id": FACILITIES}
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    notes = metadata["notes"]
    assert isinstance(notes, list)
    assert notes[-1] == "days that were told before are those of 2025-10-12"


def test_the_metadata_tells_what_a_plan_was_made_from() -> None:
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


def test_the_question_that_a_follow_up_is_read_as_is_never_planned_otherwise() -> None:
    """Two ways to the same plan: the plan edited, and the whole question planned anew."""
    compared = 0
    for dialogue in DIALOGUES:
        talk = Talk()
        for turn in dialogue["turns"]:
            proposal = talk.say(turn["ask"])
            document = json.loads(proposal.text) if isinstance(proposal, Draft) else {}
            whole = document.get("metadata", {}).get("follow_up_of", {}).get("read_as")
            anew = None if whole is None else propose(whole)
            if isinstance(anew, Draft):
                compared += 1
                assert _meaning(json.loads(anew.text)) == _meaning(document), whole
            else:
                assert anew is None or isinstance(anew, Clarification)
    assert compared >= 40


def _meaning(document: Json) -> list[str]:
    """Give all calls of a plan with what they are made from, whatever steps are called."""
    plan = load(document).plan
    assert plan is not None
    return sorted(_call(plan, step.id) for step in plan.steps)


def _call(plan: Plan, id_: str) -> str:
    step = next(step for step in plan.steps if step.id == id_)

    def spelled(ref: Ref) -> Ref:
        return Ref(_call(plan, ref.step), ref.path)

    args = {name: repr(map_refs(value, spelled)) for name, value in sorted(step.args.items())}
    return f"{step.tool} {args}"
