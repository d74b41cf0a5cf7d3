"""What the planner without a model answers, asks back, and offers."""

import json
from datetime import date
from functools import cache
from typing import Any

import pytest

from toolplan import Toolbox, ToolplanError, compile_plan
from toolplan.base import extras
from toolplan.planners import Clarification, Draft, Proposal, Question, Refusal
from toolplan.planners.conversation import episode_of
from toolplan.storage.memory import SqliteMemory
from toolplan_demo import demo_tools
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool

TODAY = "2025-10-12"
PLANNER = OfflinePlanner()


@cache
def demo() -> Toolbox:
    tools = demo_tools(date.fromisoformat(TODAY), rows=50)
    return tools if "sql" in tools else tools.with_tools(sql_tool())


def ask(question: str, context: Any = None) -> Proposal:
    return PLANNER.plan(Question(question, TODAY, context), demo())


def calls(question: str, context: Any = None) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of the plan for a question; it passes the check."""
    proposal = ask(question, context)
    assert isinstance(proposal, Draft), proposal
    assert compile_plan(proposal.text, tools=demo()).plan is not None
    return [(s["tool"], s.get("args", {})) for s in json.loads(proposal.text)["steps"]]


def asked(question: str) -> Clarification:
    proposal = ask(question)
    assert isinstance(proposal, Clarification), proposal
    return proposal


def test_each_argument_says_which_words_or_step_it_comes_from() -> None:
    proposal = ask("Get contaminants detected in Hannover")
    assert isinstance(proposal, Draft)
    metadata = json.loads(proposal.text)["metadata"]
    assert metadata["planner"] == "offline"
    assert metadata["provenance"] == {
        "/steps/0/args/location": {"words": [4, 4], "text": "Hannover"},
        "/steps/1/args/facility_id": {"ref": "facilities"},
    }


def test_a_word_that_is_not_understood_is_named() -> None:
    assert asked("Get purple shipments").unexplained == ("purple",)
    assert asked("Get purple shipments with frills").unexplained == ("purple", "frills")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("rejectd shipments", "rejected shipments"),
        ("shipmnets of plastic waste", "shipments of plastic waste"),
        ("inspections in Octobr", "inspections in october"),
    ],
)
def test_a_slip_of_the_finger_is_offered_and_never_taken(slip: str, meant: str) -> None:
    offered = asked(slip)
    assert [option.lower() for option in offered.options] == [meant]
    assert len(offered.plans) == 1


AMBIGUOUS: list[tuple[list[str], str]] = [
    (["Get shipments from Hamburg to Berlin"], "the same for Munich"),
    (["Get shipments, facilities, and inspections"], "only the rejected ones"),
    ([], "rejectd shipments"),
    ([], "facilities in Berlin, their shipments and their inspections"),
    ([], "shipments not from Hamburg or Berlin"),
]


def talk(turns: list[str]) -> tuple[Proposal, Any]:
    """Say messages one after the other; return the last reply, and what memory recalls then."""
    memory = SqliteMemory()
    proposal: Proposal = Clarification("")
    for at, text in enumerate(turns):
        question = Question(text, TODAY, memory.recall("s", text))
        proposal = PLANNER.plan(question, demo())
        episode = episode_of(question, proposal, timestamp=f"{TODAY}T06:00:{at:02}Z")
        memory.remember("s", episode)
    return proposal, memory.recall("s", "")


@pytest.mark.parametrize(("before", "text"), AMBIGUOUS)
def test_an_option_that_was_offered_is_always_taken(before: list[str], text: str) -> None:
    """P7: an option carries its plan, whether it is said in full or by its place."""
    offered, context = talk([*before, text])
    assert isinstance(offered, Clarification)
    assert offered.options
    assert len(offered.options) == len(offered.plans)
    for at, option in enumerate(offered.options):
        plan = offered.plans[at]
        assert isinstance(plan, dict)
        for reply in (option, f"{option}.", str(at + 1), ("the first", "the second", "third")[at]):
            chosen = ask(reply, context)
            assert isinstance(chosen, Draft), (reply, chosen)
            assert json.loads(chosen.text)["steps"] == plan["steps"]


FOLLOW_UPS = [
    (
        ["Get facilities in Berlin", "the same for Munich"],
        [("facilities_list", {"location": "Munich"})],
    ),
    (
        ["rejected shipments", "and last month?"],
        [
            (
                "shipments_list",
                {"date_from": "2025-09-01", "date_to": "2025-09-30", "status": "rejected"},
            )
        ],
    ),
    (
        ["Create a shipment of 500 kg", "F3"],
        [("shipments_create", {"facility_id": "F3", "weight_kg": 500})],
    ),
]


@pytest.mark.parametrize(("turns", "expected"), FOLLOW_UPS)
def test_a_follow_up_changes_the_meaning_before(turns: list[str], expected: list[Any]) -> None:
    proposal, _ = talk(turns)
    assert isinstance(proposal, Draft), proposal
    assert [(s["tool"], s.get("args", {})) for s in json.loads(proposal.text)["steps"]] == expected


def test_a_plan_that_somebody_changed_is_followed_up_by_nothing() -> None:
    first = ask("rejected shipments")
    assert isinstance(first, Draft)
    plan = json.loads(first.text)
    plan["steps"][0]["args"]["status"] = "pending"
    context = {"episodic": [{"query": "rejected shipments", "timestamp": "", "plan": plan}]}
    assert isinstance(ask("and last month?", context), Clarification)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("create a shipment", "facility id and weight kg"),
        ("update shipment S5", "value that changes"),
        ("create a facility in Berlin", "name and type and capacity tons"),
    ],
)
def test_a_call_without_a_value_asks_for_it(question: str, missing: str) -> None:
    assert asked(question).question == f"Please also give the {missing}."


@pytest.mark.parametrize("question", ["mark all rejected shipments as pending", "set S5 to blue"])
def test_no_call_is_made_of_words_that_are_not_understood(question: str) -> None:
    assert isinstance(ask(question), Clarification)


def test_without_sql_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    question, tools = Question("Which facilities are near capacity?", TODAY), demo_tools(rows=50)
    assert isinstance(PLANNER.plan(question, tools), Clarification)
    monkeypatch.setattr(extras, "find_spec", dict[str, object]().get)
    with pytest.raises(ToolplanError, match="has to be computed") as raised:
        PLANNER.plan(question, tools)
    assert raised.value.help == f"Install it: {extras.install_command('sql')}"


def test_what_no_tool_deletes_is_refused() -> None:
    assert isinstance(ask("Delete the rejected shipments"), Refusal)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            "Which facilities are near capacity?",
            "SELECT *, current_load_tons / nullif(capacity_tons, 0) AS share FROM facilities"
            " ORDER BY share DESC NULLS LAST",
        ),
        (
            "first shipment of facility F3",
            "SELECT * FROM shipments QUALIFY rank() OVER (ORDER BY date ASC NULLS LAST) <= 1"
            " ORDER BY date ASC NULLS LAST",
        ),
        (
            "shipments per carrier",
            "SELECT shipments.carrier, count(*) AS count FROM shipments"
            " GROUP BY 1 ORDER BY count DESC NULLS LAST, 1",
        ),
        (
            "facilities in Berlin other than F2",
            "SELECT * FROM facilities WHERE id IS DISTINCT FROM 'F2'",
        ),
        (
            "facilities except F2, F3 and F4",
            "SELECT * FROM facilities WHERE (id IS NULL OR id NOT IN ('F2', 'F3', 'F4'))",
        ),
    ],
)
def test_what_no_argument_can_say_is_one_statement(question: str, sql: str) -> None:
    assert calls(question)[-1][1]["sql"] == sql


def test_what_is_left_out_is_of_the_nearest_things() -> None:
    facilities, others, shipments = calls("shipments of facilities other than F2")
    assert (facilities[0], shipments[0]) == ("facilities_list", "shipments_list")
    assert others[1]["sql"] == "SELECT * FROM facilities WHERE id IS DISTINCT FROM 'F2'"


@pytest.mark.parametrize(
    "question",
    ["facility F2 other than F3", "facilities F1 and F2 but not F2", "facilities outside F2"],
)
def test_what_leaves_nothing_out_for_sure_is_asked(question: str) -> None:
    assert isinstance(ask(question), Clarification)


@pytest.mark.parametrize("words", ["in the course of", "over the course of", "in the span of"])
def test_a_period_can_be_said_in_more_words(words: str) -> None:
    assert calls(f"shipments {words} September") == calls("shipments in September")
    assert isinstance(ask(f"shipments {words} inspections"), Clarification)


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("in excess of 500 kg", "over 500 kg"),
        ("of 100 to 500 kg", "between 100 and 500 kg"),
        ("weighing from 0.1 t to 500 kg", "between 100 and 500 kg"),
        ("weighing 100-500 kg", "between 100 and 500 kg"),
        ("with a weight from 100 to 500", "between 100 and 500 kg"),
        ("with 100 to 500 kg and inspections", "with between 100 and 500 kg and inspections"),
    ],
)
def test_a_bound_can_be_said_in_more_words(words: str, same: str) -> None:
    assert calls(f"shipments {words}") == calls(f"shipments {same}")


@pytest.mark.parametrize(
    "question",
    [
        "shipments of 100 to 500",  # of which unit
        "facilities with 3 to 5 inspections",
        "inspections in 3 to 5 days",  # a time to come
        "inspections from 3 to 5 days ago",
        "shipments that went from 100 to 500 kg",  # a change
        "change the weight of shipment S1 from 100 to 500 kg",
        "create a shipment of 100 to 500 kg",
        "shipments over 100 to 500 kg",
        "shipments about 100 to 500 kg",
        "facilities of 100 to 500 t",  # what they can hold, or hold now
        "shipments with 100 to 500 kg and lead",  # two lists, or one
    ],
)
def test_a_range_of_what_is_not_said_is_asked(question: str) -> None:
    asked(question)


@pytest.mark.parametrize(
    "words", ["rejected", "shipments and", "in Berlin", "S1", "not", "5", "their"]
)
def test_a_long_question_is_asked_for_in_parts(words: str) -> None:
    assert "in parts" in asked(f"{words} " * 100).question


@pytest.mark.parametrize(
    "text", ["a and b or " * 12_000, "Berlin " * 300, "create a shipment of 5 kg " * 100]
)
def test_a_text_beyond_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def read(*_: object) -> None:
        pytest.fail("The text was read.")

    monkeypatch.setattr("toolplan_offline.reading.Reader.read", read)
    assert asked(text).question == "Please ask in at most 2,000 characters."


@pytest.mark.parametrize(
    "question",
    [
        "shipments with lead and mercury",
        "facilities without lead and mercury findings",
        "shipments with rejected and pending inspections",
        "What percentage of hazardous shipments come from Munich?",
        "What share of rejected inspections was at F3?",
        "2024 shipments",
        "Total number of shipments of EcoTrans and NordWaste",
        "total weight of plastic and glass shipments",
        "the rejected loads of F1 and the pending ones",
    ],
)
def test_what_can_mean_two_things_is_asked(question: str) -> None:
    assert isinstance(ask(question), Clarification)


@pytest.mark.parametrize(
    "question",
    [
        "Which facility has the lowest acceptance rate?",
        "acceptance rate of inspections",
        "acceptance rate per inspector",
    ],
)
def test_a_rate_that_a_tool_states_is_not_computed_otherwise(question: str) -> None:
    assert "in its own way" in asked(question).question


@pytest.mark.parametrize(
    "question", ["What share of inspections are accepted?", "contamination rate per carrier"]
)
def test_a_share_or_a_rate_that_no_tool_states_is_computed(question: str) -> None:
    assert "avg(CASE" in calls(question)[-1][1]["sql"]


def test_a_period_that_ends_today_is_noted() -> None:
    for question, notes in (("shipments this year", ["up to today"]), ("shipments in 2025", [])):
        proposal = ask(question)
        assert isinstance(proposal, Draft)
        assert json.loads(proposal.text)["metadata"]["notes"] == notes


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("facilities that accept glass", "any(accepted_waste_types, ['glass'])"),
        ("facilities that accept glass or paper", "any(accepted_waste_types, ['glass', 'paper'])"),
        (
            "which plants accept both glass and paper?",
            "all(accepted_waste_types, ['glass', 'paper'])",
        ),
        ("facilities that do not accept glass", "['glass']) IS DISTINCT FROM true"),
        (
            "how many facilities accept glass and paper",
            "all(accepted_waste_types, ['glass', 'paper'])",
        ),
        ("facilities in Berlin refusing electronics", "any(rejected_waste_types, ['electronics'])"),
    ],
)
def test_what_a_list_of_texts_holds_is_a_condition(question: str, said: str) -> None:
    assert said in str(calls(question))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("who inspected shipment S20250918-012?", "'shipment_id': 'S20250918-012'"),
        ("everything that EcoTrans carried from Leipzig", "'carrier': 'EcoTrans'"),
        ("anything pending for EcoTrans?", "'status': 'pending'"),
        ("hazardous waste from Berlin", "'waste_type': 'hazardous'"),
        ("inspections longer than an hour", "duration_minutes > 60"),
        ("how long do arrival inspections take on average?", "avg(inspections.duration_minutes)"),
        ("how long did inspections take in total?", "sum(inspections.duration_minutes)"),
        ("which day had the most shipments last month?", "date_trunc('day', shipments.date)"),
        ("shipments with two or more contaminants", "HAVING count(*) >= 2"),
        ("most common substance this year", "contaminants.type"),
        ("names and types of all facilities in Berlin", "{'location': 'Berlin'}"),
        ("rejected shipments with origin and weight", "{'status': 'rejected'}"),
        ("how many kilos of glass were rejected in September?", "sum(shipments.weight_kg)"),
        ("monthly tonnage since May", "date_trunc('month', shipments.date)"),
        ("which inspections did Jonas Weber carry out in September?", "'inspector': 'Jonas Weber'"),
        ("the shipments EcoTrans carried in September", "'carrier': 'EcoTrans'"),
        ("what share of loads are rejected loads?", "WHEN lower(status) = 'rejected'"),
        ("how many shipments did each carrier move?", "shipments.carrier"),
        ("today's loads from all carriers except NordWaste", "IS DISTINCT FROM 'nordwaste'"),
        ("shipments of carriers other than EcoHaul", "IS DISTINCT FROM 'ecohaul'"),
        ("facilities of all types except sorting", "lower(type) IS DISTINCT FROM 'sorting'"),
        ("mercury or cadmium since 1 June", "'type': 'Cadmium'"),
        ("rejected shipments, heaviest first", "ORDER BY weight_kg DESC"),
        ("shipments lightest first", "ORDER BY weight_kg ASC"),
        ("Facility F2, all its inspections and all its shipments", "shipments_list"),
        (
            "shipment S21, the facility it belongs to, and all inspections at that facility",
            "inspections_list",
        ),
        ("contaminants with a high explosive level", "lower(explosive_level) = 'high'"),
        ("how many different carriers were there in 2025?", "count(DISTINCT shipments.carrier)"),
        ("how many distinct waste types did EcoTrans carry?", "'carrier': 'EcoTrans'"),
        ("how many tonnes did EcoTrans move from Munich?", "sum(shipments.weight_kg) / 1000.0"),
        ("what do rejected shipments weigh on average?", "avg(shipments.weight_kg)"),
        ("which inspector has passed the most inspections?", "'passed': True"),
        ("weight of the lightest metal shipment", "ORDER BY weight_kg ASC"),
        ("carrier of the 3 heaviest shipments", "<= 3"),
        ("what is the origin of the latest shipment?", "'limit': 1"),
        ("who carried out inspection I20250918-012?", "'id': 'I20250918-012'"),
        ("facilities that have never had a rejected shipment", "NOT IN"),
    ],
)
def test_what_analysts_say_is_read(question: str, said: str) -> None:
    assert said in str(calls(question))


@pytest.mark.parametrize(
    "question",
    [
        "how many shipments had both inspections failed?",
        "contaminants found at both F3 and F9",
        "which facilities had both a rejected inspection and a rejected shipment in September?",
        "which five cities sent us the most shipments?",  # where they came from, or where they went
        "which facility carried the most shipments?",  # they were carried to it
        "facilities that transported more than three shipments",
        "how many shipments did each facility send?",
        "which cities send the most plastic waste?",
        "which locations carried at least 5 shipments?",
        "everything",
        "how many different carriers were there in Berlin and Munich?",  # of both, or of each
        "how many different shipments were rejected?",
        "which facility has inspected the most contaminants?",
        "facilities that failed most inspections",
        "what does a facility weigh on average?",
        "how long do shipments weigh on average?",
        "inspector of the heaviest shipment",
        "carrier of the latest inspection",
        "location of the latest shipment",
        "carriers of the last 10 shipments",  # each of them once?
        "which carrier has rejected the most shipments?",  # had the most that were rejected
        "who measured shipment S20250918-012?",
        "shipments between 500 and 100 kg",
        "shipments of 500 to 100 kg",
    ],
)
def test_what_cannot_be_told_is_asked_back(question: str) -> None:
    asked(question)
