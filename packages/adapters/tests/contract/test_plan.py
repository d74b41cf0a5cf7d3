"""Planning by contracts: which tasks, of whom, after which others, and what is written where."""

import copy
import json
import re

import pytest

from packages.adapters.tests.contract.planning import owners, planner, required, rows, state, tasks
from toolplan import parse
from toolplan.plan.path import Json
from toolplan_adapters.contract import (
    ClarificationNeeded,
    KnowledgeMode,
    StateError,
    UnknownIntentError,
)
from toolplan_adapters.network import NETWORK_CONTRACTS

KNOWLEDGE = "Knowledge Agent"
DATA = "Data Query Agent"
CONFIG = "Config Best Practice Agent"
SECURITY = "Security Assessment Agent"


def test_only_four_paths_are_written() -> None:
    """F001-1, C-25: plan.tasks, plan.routing, and the ends of two lists of the trace."""
    before: dict[str, Json] = {
        **state("cbp_assessment", ("site", "HQ")),
        "input": {"user_prompt": "?", "context_kv": {"a": [1]}},
        "plan": {"tasks": ["old"], "routing": ["old"], "note": "kept"},
        "routing": {"last_decision": "Intent"},
        "schema": {"tables": []},
        "trace": {"node_run_order": ["Intent"], "state_deltas": [{"node": "Intent"}], "x": 1},
        "conversation": {"history": []},
    }
    kept = copy.deepcopy(before)
    after = planner().plan(before)
    assert before == kept
    plan, trace = after["plan"], after["trace"]
    assert isinstance(plan, dict)
    assert isinstance(trace, dict)
    assert plan.keys() == {"tasks", "routing", "note"}
    assert trace["node_run_order"] == ["Intent", "Planner"]
    assert trace["state_deltas"] == [
        {"node": "Intent"},
        {"node": "Planner", "wrote": ["plan.tasks", "plan.routing"], "knowledge": []},
    ]
    assert {**after, "plan": 0, "trace": 0} == {**kept, "plan": 0, "trace": 0}
    assert trace["x"] == 1


def test_what_data_there_is_and_what_was_done_changes_no_plan() -> None:
    """F001-2, F001-3, F001-4: nothing is fetched or found, only the intent is looked at."""
    bare = state("security_assessment", ("site", "HQ"))
    full: dict[str, Json] = {
        **bare,
        "plan": {"tasks": [{"id": "T1", "status": "failed"}], "routing": []},
        "data": {"assessment_context": {}},
        "conversation": {"history": [{"intent": {"intent_class": "cbp_generic"}}]},
    }
    assert planner().plan(bare)["plan"] == planner().plan(full)["plan"]
    assert all(
        task["outputs"] == {} and task["status"] == "pending"
        for task in tasks(planner().plan(full))
    )


@pytest.mark.parametrize(
    ("intent_class", "mode", "expected"),
    [
        ("cbp_assessment", "auto", [DATA, CONFIG]),
        ("cbp_assessment", "always", [KNOWLEDGE, DATA, CONFIG]),
        ("cbp_assessment", "never", [DATA, CONFIG]),
        ("cbp_expert_insights", "auto", [KNOWLEDGE, DATA, CONFIG]),
        ("cbp_expert_insights", "never", [KNOWLEDGE, DATA, CONFIG]),
        ("cbp_generic", "auto", [KNOWLEDGE, CONFIG]),
        ("cbp_generic", "always", [KNOWLEDGE, CONFIG]),
        ("cbp_generic", "never", [KNOWLEDGE, CONFIG]),
        ("security_assessment", "auto", [DATA, SECURITY]),
        ("security_assessment", "always", [KNOWLEDGE, DATA, SECURITY]),
        ("sec_assessment", "auto", [DATA, SECURITY]),
    ],
)
def test_classes_lead_to_agents(
    intent_class: str, mode: KnowledgeMode, expected: list[str]
) -> None:
    """F001-5 to F001-8, F001-18, C-22: the matrix comes from the contracts, in this order."""
    planned = planner(mode).plan(state(intent_class, ("site", "HQ")))
    plan = planned["plan"]
    assert isinstance(plan, dict)
    assert plan["routing"] == owners(planned) == expected
    assert [row.id for row in rows(planned)] == [f"T{n}" for n in range(1, len(expected) + 1)]


@pytest.mark.parametrize(
    ("intent_class", "expected"),
    [
        ("cbp_assessment", [("assessment_context", "cbp_assessment", 1, "required")]),
        (
            "cbp_expert_insights",
            [
                ("assessment_context.slic_findings", "cbp_expert_insights", 1, "required"),
                ("enterprise_context.retrieved_chunks", "cbp_expert_insights", 1, "required"),
            ],
        ),
        ("cbp_generic", [("enterprise_context.retrieved_chunks", "cbp_generic", 1, "required")]),
        (
            "security_assessment",
            [
                ("assessment_context.assets.configs", "security_assessment", 1, "required"),
                ("assessment_context.assets.inventory", "security_assessment", 0, "optional"),
                ("assessment_context.assets.events", "security_assessment", 0, "optional"),
            ],
        ),
    ],
)
def test_a_domain_task_declares_what_it_needs(
    intent_class: str, expected: list[tuple[str, str, int, str]]
) -> None:
    """F001-12, F001-22, C-20: also what it needs of the enterprise's knowledge."""
    *before, domain = tasks(planner().plan(state(intent_class)))
    assert required(domain) == expected
    assert all("required_data" not in task for task in before)


def test_a_task_waits_for_all_who_produce_what_it_needs() -> None:
    """F001-9, C-20, C-21: of two that wait for each other only the nearer one is named."""
    generic = planner().plan(state("cbp_generic"))
    assert [row.depends_on for row in rows(generic)] == [(), ("T1",)]
    insights = state("cbp_expert_insights", ("site", "HQ"))
    in_line = planner().plan(insights)
    assert [row.depends_on for row in rows(in_line)] == [(), ("T1",), ("T2",)]
    concurrent = planner(parallel=True).plan(insights)
    assert [row.depends_on for row in rows(concurrent)] == [(), (), ("T1", "T2")]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"meta_intent": "follow_up"}, "follow_up"),
        ({"meta_intent": "followup"}, "follow_up"),
        ({"meta_intent": "policy_clarification"}, "policy"),
        ({"domain_details": {"assessment_goal": "check against our standards"}}, "policy"),
        ({"domain_details": {"assessment_goal": "granted exceptions"}}, "policy"),
        ({"confidence": 0.6}, "ambiguous_query"),
        ({"entities": [{"type": "site", "value": "HQ", "confidence": 0.4}]}, "ambiguous_scope"),
    ],
)
def test_knowledge_is_asked_for_a_reason(more: dict[str, Json], reason: str) -> None:
    """F001-10, C-19, C-26: explicit predicates over the intent, noted in the trace."""
    planned = planner().plan(state("cbp_assessment", **more))
    assert owners(planned)[0] == KNOWLEDGE
    trace = planned["trace"]
    assert isinstance(trace, dict)
    assert trace["state_deltas"] == [
        {"node": "Planner", "wrote": ["plan.tasks", "plan.routing"], "knowledge": [reason]}
    ]
    assert owners(planner("never").plan(state("cbp_assessment", **more)))[0] == DATA


@pytest.mark.parametrize("confidence", [0.7, 0.9, None])
def test_a_clear_intent_needs_no_knowledge(confidence: float | None) -> None:
    """F001-10, C-19: 0.7 is not ambiguous, and nothing said is sure."""
    assert owners(planner().plan(state("cbp_assessment", confidence=confidence)))[0] == DATA


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        ([], "Validate target scope configurations against best practices"),
        ([("site", "HQ")], "Validate HQ configurations against best practices"),
        (
            [("site", "HQ"), ("site", "Lab")],
            "Validate HQ and Lab configurations against best practices",
        ),
        ([("device", "r1"), ("site", "HQ")], "Validate r1 configurations against best practices"),
        ([("site", "{place}")], "Validate {place} configurations against best practices"),
        ([("severity", "high")], "Validate target scope configurations against best practices"),
    ],
)
def test_descriptions_name_the_scope(entities: list[tuple[str, str]], expected: str) -> None:
    """F001-14."""
    assert tasks(planner().plan(state("cbp_assessment", *entities)))[-1]["description"] == expected


def test_the_scope_may_come_from_the_details() -> None:
    """F001-14, F001-21."""
    details: Json = {"scope": {"site": "HQ"}}
    planned = planner().plan(state("cbp_assessment", domain_details=details))
    assert tasks(planned)[0]["description"] == "Fetch configurations and inventory for HQ site"


@pytest.mark.parametrize(
    ("more", "question"),
    [
        ({"intent_class": "unknown_or_needs_clarification"}, "What should be assessed"),
        (
            {"intent_class": "unknown_or_needs_clarification", "clarification_question": "HQ?"},
            "HQ?",
        ),
        ({"confidence": 0.49, "clarification_question": "Which site?"}, "Which site?"),
    ],
)
def test_an_unclear_intent_is_asked_about(more: dict[str, Json], question: str) -> None:
    """F001-20: the gate; the planner writes nothing."""
    before: dict[str, Json] = {"intent": {"intent_class": "cbp_assessment", **more}}
    kept = copy.deepcopy(before)
    with pytest.raises(ClarificationNeeded, match=re.escape(question)):
        planner().plan(before)
    assert before == kept


def test_a_class_that_nobody_answers_is_an_error() -> None:
    """C-27: no tasks, and the classes that there are."""
    with pytest.raises(
        UnknownIntentError, match=r"'routing_audit'\. Known classes: cbp_assessment, "
    ):
        planner().plan(state("routing_audit"))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({}, "/intent: Expected `object`, got `null`."),
        ({"intent": {}}, "/intent: Object missing required field `intent_class`."),
        ({"intent": {"intent_class": 7}}, "/intent/intent_class: Expected `str`, got `int`."),
        (state("cbp_generic", entities={}), "/intent/entities: Expected `array`, got `object`."),
        (
            state("cbp_generic", entities=["HQ"]),
            "/intent/entities/0: Expected `object`, got `str`.",
        ),
        (
            state("cbp_generic", meta_intent="mood"),
            "/intent/meta_intent: Invalid enum value 'mood'.",
        ),
        (
            state("cbp_generic", confidence="high"),
            "/intent/confidence: Expected `float`, got `str`.",
        ),
        (
            state("cbp_generic", domain_details=[]),
            "/intent/domain_details: Expected `object`, got `array`.",
        ),
        (
            {**state("cbp_generic"), "trace": {"node_run_order": {}}},
            "/trace/node_run_order: It must be a list, not an object.",
        ),
        ({**state("cbp_generic"), "plan": []}, "/plan: It must be an object, not a list."),
    ],
)
def test_what_is_no_state_is_reported_at_its_place(broken: dict[str, Json], message: str) -> None:
    with pytest.raises(StateError, match=re.escape(message)):
        planner().plan(broken)


def test_which_task_is_whose_stands_beside_the_plan() -> None:
    """F001-15, F001-26, C-24: by task id, so two tasks may have one owner; not in the STATE."""
    given = state("cbp_expert_insights", ("site", "HQ"))
    envelope = planner().envelope(given)
    assert envelope["routing_detail"] == [
        {"task_id": "T1", "agent": KNOWLEDGE, "skill": None},
        {"task_id": "T2", "agent": DATA, "skill": None},
        {"task_id": "T3", "agent": CONFIG, "skill": "cbp_expert_insights"},
    ]
    planned = planner().plan(given)
    assert envelope["plan"] == planned["plan"]
    assert "routing_detail" not in json.dumps(planned)


@pytest.mark.parametrize("name", NETWORK_CONTRACTS.intent_classes)
def test_what_is_planned_is_text_of_the_dialect_state(name: str) -> None:
    """F001-11, F001-12: a task is a step, its owner the tool."""
    envelope = planner("always").envelope(state(name, ("site", "HQ")))
    parsed = parse(json.dumps(envelope), "state")
    assert parsed.plan is not None
    assert parsed.diagnostics == ()
    assert [(step.id, step.tool, step.after) for step in parsed.plan.steps] == [
        (row.id, row.owner, row.depends_on) for row in rows(envelope)
    ]
