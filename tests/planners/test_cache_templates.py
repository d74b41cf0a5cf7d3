"""Plans fitted to other words: where every place is sure, and nowhere else."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.planners.planned import TODAY, demo
from toolplan.path import Json
from toolplan.planners import Draft, GroundedPlanner, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.storage.plan_cache import PlanCache

Step = dict[str, Json]

LAST_WEEK: dict[str, Json] = {"date_from": "2025-10-05", "date_to": "2025-10-12"}


def step(tool: str, args: dict[str, Json], **more: Json) -> Step:
    return {"id": "a", "tool": tool, "args": args, **more}


def plan(*steps: Step, **more: Json) -> str:
    return json.dumps({"toolplan": 1, "steps": [*steps], **more})


def fitted(
    kept: str, text: str, asked: str, *, on: str = TODAY, today: str = TODAY
) -> dict[str, Json] | None:
    """Keep `text` as the plan for `kept`; give what is proposed for `asked`, None for a miss."""
    planner = CachedPlanner(GroundedPlanner(), PlanCache(), name="model", version="1")
    planner.keep(Question(kept, on), demo(), Draft(text))
    draft = planner.recall(Question(asked, today), demo())
    return None if draft is None else json.loads(draft.text)


def args_of(document: dict[str, Json] | None, at: int = 0) -> Json:
    assert document is not None
    steps = document["steps"]
    assert isinstance(steps, list)
    one = steps[at]
    assert isinstance(one, dict)
    return one["args"]


class Case(NamedTuple):
    """A question, the arguments of its one step, another question, and its arguments."""

    kept: str
    tool: str
    args: dict[str, Json]
    asked: str
    expected: dict[str, Json] | None


FITS = [
    Case(
        "facilities in Berlin",
        "facilities_list",
        {"location": "Berlin"},
        "Show me the Munich facilities",
        {"location": "Munich"},
    ),
    Case(
        "facilities in Berlin",
        "facilities_list",
        {"location": "Berlin"},
        "facilities in Köln",
        {"location": "Cologne"},
    ),
    Case(
        "shipments from last week",
        "shipments_list",
        LAST_WEEK,
        "shipments this month",
        {"date_from": "2025-10-01", "date_to": "2025-10-12"},
    ),
    Case(
        "shipments from today",
        "shipments_list",
        {"date_from": TODAY, "date_to": TODAY},
        "shipments from the last 7 days",
        {"date_from": "2025-10-05", "date_to": TODAY},
    ),
    Case(
        "rejected shipments from Hamburg to Berlin last week",
        "shipments_list",
        {"status": "rejected", "origin": "Hamburg", "destination": "Berlin", **LAST_WEEK},
        "pending shipments from Berlin to Hamburg yesterday",
        {
            "status": "pending",
            "origin": "Berlin",
            "destination": "Hamburg",
            "date_from": "2025-10-11",
            "date_to": "2025-10-11",
        },
    ),
    Case(
        "shipments over 5 tonnes",
        "shipments_list",
        {"min_weight_kg": 5000},
        "shipments over 750 kg",
        {"min_weight_kg": 750},
    ),
    Case(
        "shipments over 5 tonnes",
        "shipments_list",
        {"min_weight_kg": 5000},
        "shipments over 2.5 t",
        {"min_weight_kg": 2500},
    ),
    Case(
        "latest 5 inspections",
        "inspections_list",
        {"limit": 5},
        "the 12 most recent inspections",
        {"limit": 12},
    ),
    Case(
        "show shipment S20251012-003",
        "shipments_get",
        {"id": "S20251012-003"},
        "please show shipment S20251011-001",
        {"id": "S20251011-001"},
    ),
    Case(
        "facilities F1 and F2",
        "facilities_list",
        {"ids": ["F1", "F2"]},
        "facilities F1 and F5",
        {"ids": ["F1", "F5"]},
    ),
]


@pytest.mark.parametrize("case", FITS, ids=lambda case: case.asked)
def test_other_words_are_filled_in_where_their_place_is_sure(case: Case) -> None:
    found = fitted(case.kept, plan(step(case.tool, case.args)), case.asked)
    assert args_of(found) == case.expected


IN_DOUBT = {
    "a value that is written otherwise in the plan": Case(
        "facilities in Berlin",
        "facilities_list",
        {"location": "Berlin, Germany"},
        "facilities in Munich",
        None,
    ),
    "a value that the plan leaves out": Case(
        "facilities in Berlin", "facilities_list", {}, "facilities in Munich", None
    ),
    "a place that nobody knows": Case(
        "facilities in Berlin",
        "facilities_list",
        {"location": "Berlin"},
        "facilities in Atlantis",
        None,
    ),
    "a slip": Case(
        "facilities in Berlin",
        "facilities_list",
        {"location": "Berlin"},
        "facilities in Berlim",
        None,
    ),
    "half of a time": Case(
        "shipments from last week",
        "shipments_list",
        {"date_from": "2025-10-05"},
        "shipments from last month",
        None,
    ),
    "a date that no word gives": Case(
        "shipments from last week",
        "shipments_list",
        {**LAST_WEEK, "facility_id": "2025-01-01"},
        "shipments from last month",
        None,
    ),
    "dates the wrong way round": Case(
        "shipments from last week",
        "shipments_list",
        {"date_from": "2025-10-12", "date_to": "2025-10-05"},
        "shipments from last month",
        None,
    ),
    "a time that is still to come": Case(
        "shipments from last week",
        "shipments_list",
        LAST_WEEK,
        "shipments from next week",
        None,
    ),
    "a day that may be one of two": Case(
        "shipments on 2025-10-03",
        "shipments_list",
        {"date_from": "2025-10-03", "date_to": "2025-10-03"},
        "shipments on 04/05/2025",
        None,
    ),
    "a date that does not exist": Case(
        "shipments on 2025-10-03",
        "shipments_list",
        {"date_from": "2025-10-03", "date_to": "2025-10-03"},
        "shipments on 2025-02-30",
        None,
    ),
    "an identity of another kind": Case(
        "show shipment S20251012-003",
        "shipments_get",
        {"id": "S20251012-003"},
        "show shipment I20251012-001-1",
        None,
    ),
    "a number that is there twice": Case(
        "latest 5 inspections",
        "inspections_list",
        {"limit": 5, "min_duration_minutes": 5},
        "latest 6 inspections",
        None,
    ),
    "one instead of several": Case(
        "latest 5 inspections", "inspections_list", {"limit": 5}, "latest 1 inspections", None
    ),
    "half a thing": Case(
        "latest 5 inspections", "inspections_list", {"limit": 5}, "latest 5.5 inspections", None
    ),
    "an amount of something else": Case(
        "contaminants over 100 ppm",
        "contaminants_list",
        {"min_concentration_ppm": 100},
        "contaminants over 100 kg",
        None,
    ),
    "the same value at two parts": Case(
        "shipments from Berlin to Berlin",
        "shipments_list",
        {"origin": "Berlin", "destination": "Berlin"},
        "shipments from Berlin to Munich",
        None,
    ),
}


@pytest.mark.parametrize("name", IN_DOUBT)
def test_in_doubt_there_is_no_plan(name: str) -> None:
    case = IN_DOUBT[name]
    assert fitted(case.kept, plan(step(case.tool, case.args)), case.asked) is None


BERLIN: dict[str, Json] = {"location": "Berlin"}


@pytest.mark.parametrize(
    "text",
    [
        plan({"id": "berlin", "tool": "facilities_list", "args": BERLIN}),
        plan(step("facilities_list", BERLIN), output={"city": "Berlin"}),
        plan(
            step("facilities_list", BERLIN),
            {"id": "b", "tool": "sql", "args": {"sql": "SELECT 1 WHERE 'berlin' = ''"}},
        ),
        plan(
            step("facilities_list", BERLIN),
            step("facilities_list", {}, id="b", when={"value": "Berlin", "is": {}}),
        ),
        plan(
            step("facilities_list", BERLIN),
            {"id": "b", "tool": "sql", "args": {"sql": "-- ${a.data[0].id} in Berlin"}},
        ),
    ],
    ids=["step id", "output", "statement", "condition", "text with a reference"],
)
def test_a_value_that_stands_in_other_text_too_is_not_replaced(text: str) -> None:
    assert fitted("facilities in Berlin", text, "facilities in Berlin, please") is not None
    assert fitted("facilities in Berlin", text, "facilities in Munich") is None


def test_a_date_in_a_statement_or_a_step_id_is_not_overlooked() -> None:
    others: list[Step] = [
        {"id": "b", "tool": "sql", "args": {"sql": "SELECT 1 WHERE DATE '2025-10-05' < DATE 'x'"}},
        {"id": "since_2025_10_05", "tool": "facilities_list"},
        {"id": "since_20251005", "tool": "facilities_list"},
    ]
    for other in others:
        text = plan(step("shipments_list", LAST_WEEK), other)
        assert fitted("shipments from last week", text, "shipments of the last week")
        assert fitted("shipments from last week", text, "shipments from last month") is None


@pytest.mark.parametrize(
    "other",
    [
        {"id": "b", "tool": "analytics_risk_trends", "args": {"days": 7}},
        {"id": "last_week", "tool": "facilities_list"},
        {"id": "b", "tool": "sql", "args": {"sql": "SELECT date_trunc('week', day) FROM t"}},
        {"id": "b", "tool": "sql", "args": {"sql": "SELECT 1 WHERE age < 7"}},
    ],
    ids=["a number of days", "a step id", "a word in a statement", "a number in a statement"],
)
def test_a_time_that_is_said_otherwise_too_is_not_replaced(other: Step) -> None:
    text = plan(step("shipments_list", LAST_WEEK), other)
    assert fitted("shipments from last week", text, "shipments of the last week")
    assert fitted("shipments from last week", text, "shipments from last month") is None


def test_an_identity_that_no_word_gives_is_not_taken_along() -> None:
    """The model knew which facilities are in Berlin; those in Munich are others."""
    text = plan(
        step("facilities_list", BERLIN),
        step("shipments_list", {"facility_id": ["F1", "F4"]}, id="b"),
    )
    assert fitted("shipments in Berlin", text, "show shipments in Berlin")
    assert fitted("shipments in Berlin", text, "shipments in Munich") is None


def test_a_plan_of_yesterday_is_read_again_today() -> None:
    """C-17: times are read again, and what does not change with the day stays."""
    text = plan(step("shipments_list", {"status": "rejected", **LAST_WEEK}))
    found = fitted(
        "rejected shipments from last week",
        text,
        "rejected shipments from last week",
        today="2025-10-13",
    )
    assert args_of(found) == {
        "status": "rejected",
        "date_from": "2025-10-06",
        "date_to": "2025-10-13",
    }
    same = fitted("facilities in Berlin", plan(step("facilities_list", BERLIN)), "Berlin sites",
                  today="2026-01-01")  # fmt: skip
    assert args_of(same) == BERLIN


def test_a_day_that_only_the_model_knew_of_is_not_taken_to_another_day() -> None:
    text = plan(step("shipments_list", {"date_to": TODAY}))
    assert fitted("shipments", text, "all shipments") is not None
    assert fitted("shipments", text, "all shipments", today="2025-10-13") is None


def test_the_plans_own_reasons_count_against_a_place() -> None:
    reasons: Json = {"provenance": {"/steps/0/args/location": {"default": "schema"}}}
    text = plan(step("facilities_list", BERLIN), metadata=reasons)
    assert fitted("facilities in Berlin", text, "facilities in Munich") is None
    elsewhere: Json = {
        "provenance": {"/steps/0/args/location": {"words": [0, 0], "text": "facilities"}}
    }
    text = plan(step("facilities_list", BERLIN), metadata=elsewhere)
    assert fitted("facilities in Berlin", text, "facilities in Munich") is None


def test_metadata_speaks_of_the_new_question() -> None:
    kept = GroundedPlanner().plan(Question("facilities in Berlin", TODAY), demo())
    assert isinstance(kept, Draft)
    found = fitted("facilities in Berlin", kept.text, "please show the facilities in Munich")
    assert found is not None
    assert found["metadata"] == {
        "query": "please show the facilities in Munich",
        "reference_date": TODAY,
        "planner": "grounded",
        "notes": [],
        "provenance": {"/steps/0/args/location": {"words": [5, 5], "text": "Munich"}},
        "cached_from": {"question": "facilities in Berlin", "today": TODAY, "by": "template"},
    }


def test_notes_tell_how_the_new_time_was_read() -> None:
    kept = GroundedPlanner().plan(Question("shipments from last week", TODAY), demo())
    assert isinstance(kept, Draft)
    found = fitted("shipments from last week", kept.text, "shipments this month")
    assert found is not None
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    (told,) = metadata["notes"] if isinstance(metadata["notes"], list) else []
    assert isinstance(told, str)
    assert told.startswith("this month = 2025-10-01 to 2025-10-12")


def test_thoughts_about_another_question_are_dropped() -> None:
    text = plan(step("facilities_list", BERLIN, thought="They ask for Berlin."))
    other = fitted("facilities in Berlin", text, "facilities in Munich")
    assert "thought" not in json.dumps(other)
    same = fitted("facilities in Berlin", text, "Show me facilities in Berlin")
    assert "They ask for Berlin." in json.dumps(same)


def test_a_value_that_looks_like_a_reference_stays_text() -> None:
    text = plan(step("facilities_list", {"location": "$${Berlin}"}))
    assert fitted("facilities in Berlin", text, "facilities in Munich") is None


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("shipments with contaminants", "shipments without contaminants"),
        ("rejected shipments", "shipments that were not rejected"),
        ("rejected shipments", "only rejected shipments"),
        ("all shipments", "all shipments except rejected ones"),
        ("shipments over 5 tonnes", "shipments under 5 tonnes"),
        ("shipments before Monday", "shipments after Monday"),
        ("first 5 inspections", "last 5 inspections"),
        ("rejected and pending shipments", "rejected or pending shipments"),
        ("how many facilities", "facilities"),
        ("are there rejected shipments?", "rejected shipments"),
        ("shipments and their contaminants", "shipments and contaminants"),
        ("which facility has most shipments", "which facilities have most shipments"),
        ("inspections and their shipments", "inspections and these shipments"),
        ("rejected shipments", "show me the same rejected shipments again"),
        ("share of rejected contaminated shipments", "share of contaminated rejected shipments"),
    ],
)
def test_words_that_change_the_question_make_another_form(kept: str, asked: str) -> None:
    """Whatever the plan: none of these questions may get the other one's."""
    text = plan(step("facilities_list", {}))
    assert fitted(kept, text, kept) is not None
    assert fitted(kept, text, asked) is None
    assert fitted(asked, text, kept) is None
