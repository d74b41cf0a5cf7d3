"""The dialect `state`: the contract planner's tasks and routing."""

import json
from pathlib import Path

import pytest

from toolplan.dialects import DIALECTS
from toolplan.plan.diagnostics import CannotExpress, Severity
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json

STATE = DIALECTS["state"]
HERE = Path(__file__).parents[4] / "tests" / "dialects" / "state"


def task(**fields: Json) -> dict[str, Json]:
    return {"id": "T1", "owner": "Knowledge Agent", **fields}


def codes(document: Json) -> list[tuple[str, str]]:
    return [(e.code, e.pointer) for e in STATE.parse(json.dumps(document)).diagnostics]


def test_a_task_is_a_step_with_its_owner_as_the_tool() -> None:
    """F001-16."""
    parsed = STATE.parse((HERE / "f001-16.txt").read_text("utf-8"))
    assert parsed.plan is not None
    steps = [(s.id, s.tool, s.after, list(s.args)) for s in parsed.plan.steps]
    assert steps == [
        ("T1", "Knowledge Agent", (), []),
        ("T2", "Data Query Agent", ("T1",), []),
        ("T3", "Config Best Practice Agent", ("T2",), ["required_data"]),
    ]


def test_routing_is_a_flat_list_and_its_detail_stands_beside_the_plan() -> None:
    """C-24: two tasks of one owner are distinguished."""
    data: Json = [{"data_path": "x", "skill": "cbp"}, {"data_path": "y", "skill": "cbp"}]
    plan = Plan(
        (
            Step("T1", "Agent", {"required_data": Literal(data)}),
            Step("T2", "Agent", {"scope": Literal({"site": "HQ"})}),
        )
    )
    document = json.loads(STATE.print(plan))
    assert document["plan"]["routing"] == ["Agent", "Agent"]
    assert document["routing_detail"] == [
        {"task_id": "T1", "agent": "Agent", "skill": "cbp"},
        {"task_id": "T2", "agent": "Agent", "skill": None},
    ]
    assert STATE.parse(json.dumps(document)).plan == plan


def test_the_plan_may_stand_alone_or_in_a_whole_state() -> None:
    inner: Json = {"tasks": [task()], "routing": ["Knowledge Agent"]}
    wanted = Plan((Step("T1", "Knowledge Agent"),))
    assert STATE.parse(json.dumps(inner)) == (wanted, ())
    whole = STATE.parse(json.dumps({"plan": inner, "intent": {}, "trace": {}}))
    assert whole.plan == wanted
    assert [(e.code, e.severity) for e in whole.diagnostics] == [("noise", Severity.WARNING)]
    assert codes({"plan": inner, "final": {}}) == [("unknown-field", "/final")]


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", "failed", "skipped"])
def test_every_status_is_known_and_what_has_been_done_is_reported(status: str) -> None:
    """F001-11, C-25."""
    wanted = [] if status == "pending" else [("noise", "/steps/0/status")]
    assert codes({"tasks": [task(status=status)]}) == wanted


@pytest.mark.parametrize("status", ["done", None, 1, []])
def test_another_status_is_an_error(status: Json) -> None:
    assert codes({"tasks": [task(status=status)]}) == [("field-type", "/steps/0/status")]


def test_text_that_looks_like_a_reference_is_text() -> None:
    plan = Plan((Step("T1", "a", {"scope": Literal("${T1.x} {0} $T1$ <node-0> API_call_0")}),))
    assert STATE.parse(STATE.print(plan)).plan == plan


def test_what_a_task_cannot_say_is_named_each_by_itself() -> None:
    plan = Plan(
        (
            Step("T1", "a", {"query": Literal(1)}, on_error="continue"),
            Step("T2", "b", {"scope": Ref("T1", ("x",))}),
        ),
        Ref("T2"),
        {"query": "?"},
    )
    with pytest.raises(CannotExpress) as caught:
        STATE.print(plan)
    assert [each.pointer for each in caught.value.diagnostics] == [
        "/output",
        "/metadata",
        "/steps/0/on_error",
        "/steps/1/args/scope",
        "/steps/0/args/query",
    ]


def test_places_are_those_of_the_task() -> None:
    text = '{"plan": {"tasks": [{"task_id": "T1", "owner": "a", "scope": {"site": "HQ"}}]}}'
    for pointer, written in (
        ("/steps/0/id", '"T1"'),
        ("/steps/0/tool", '"a"'),
        ("/steps/0/args/scope/site", '"HQ"'),
    ):
        span = STATE.locate(text, pointer)
        assert span is not None
        assert text[span.start : span.end] == written
