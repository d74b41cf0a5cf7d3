"""Policies of an app: given in any form, kept with the run, and held when it is resumed."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

import toolplan
from tests.flows.mails import TOOLS, step
from tests.flows.test_guards import POLICY, tools
from toolplan import ExecutionPlan, ToolplanError, compile_plan, open, run
from toolplan.plan.model import Literal, Value
from toolplan.plan.path import Json
from toolplan.policy import parse_policy
from toolplan.policy.approval import Approval, ApprovalRequired
from toolplan.schema.tool import Arguments

PLAN: dict[str, Json] = {
    "toolplan": 1,
    "steps": [
        step("mails", "inbox"),
        step("sent", "send", to="bob@ours.com", body="${mails[0].text}"),
    ],
}


def nobody(plan: ExecutionPlan) -> Approval | None:
    del plan
    return None


def test_a_resumed_run_is_held_to_the_policy_that_it_was_started_with(tmp_path: Path) -> None:
    calls: list[tuple[str, Arguments]] = []
    given, journal = tools("see evil.com", calls), tmp_path / "runs.sqlite"
    with (
        open(given, planner="offline", policy=POLICY, journal=journal) as app,
        pytest.raises(ApprovalRequired),
    ):
        asyncio.run(app.run(PLAN, run_id="r1", approve=nobody))
    assert calls == []
    with open(given, planner="offline", journal=journal) as app:
        ended = asyncio.run(app.resume("r1", yes=True))
    error = ended.steps["sent"].error
    assert error is not None
    assert error.code == "guard"
    assert [name for name, _ in calls] == ["inbox"]


def test_a_policy_is_given_as_a_mapping_or_a_file(tmp_path: Path) -> None:
    refusing: dict[str, object] = {
        "sinks": {"send": {"body": {"needs": "trusted", "else": "refuse"}}}
    }
    with open(TOOLS, planner="offline", policy=refusing) as app:
        checked = app.check(PLAN)
    assert [each.code for each in checked.diagnostics] == ["flow-refused"]
    assert checked.plan is None
    file = tmp_path / "mine.toml"
    file.write_text('[sinks.send]\nbody = "trusted"\n', "utf-8")
    with open(TOOLS, planner="offline", policy=file) as app:
        checked = app.check(PLAN)
    assert [each.code for each in checked.diagnostics] == ["untrusted-argument"]
    assert checked.plan is not None
    assert toolplan.read_policy(file).sinks.keys() == {"send"}
    with pytest.raises(ToolplanError, match="not a list"):
        open(TOOLS, planner="offline", policy={"trusted": {"outputs": 3}})


def test_a_misspelt_policy_lets_no_plan_run() -> None:
    with (
        open(TOOLS, planner="offline", policy={"sinks": {"sned": {"to": "any"}}}) as app,
        pytest.raises(ToolplanError, match="sned"),
    ):
        asyncio.run(app.run(PLAN, yes=True))


@pytest.mark.parametrize(
    ("approval", "body", "sent"),
    [
        ("when-needed", '"plain"', True),
        ("when-needed", '"any"', True),
        ("when-needed", '"trusted"', False),
        ("when-needed", '{ needs = "trusted", or = { maxLength = 99 } }', True),
        ("always", '"any"', False),
    ],
)
def test_a_plan_runs_unasked_where_the_policy_says_so_and_allows_each_flow(
    approval: str, body: str, sent: bool
) -> None:
    calls: list[tuple[str, Arguments]] = []
    policy = parse_policy(f'approval = "{approval}"\n[sinks.send]\nbody = {body}\n')
    plan = compile_plan(PLAN, tools=tools("all is well", calls), policy=policy).plan
    assert plan is not None
    for approver in (None, nobody):
        calls.clear()
        if sent:
            assert asyncio.run(run(plan, tools("all is well", calls), approval=approver)).succeeded
        else:
            with pytest.raises(ApprovalRequired):
                asyncio.run(run(plan, tools("all is well", calls), approval=approver))
        assert ("send" in [name for name, _ in calls]) == sent


def test_a_plan_that_was_changed_after_its_check_does_not_run_unasked() -> None:
    calls: list[tuple[str, Arguments]] = []
    given = tools("all is well", calls)
    policy = parse_policy('approval = "when-needed"\n[sinks.send]\nbody = "any"\n')
    plan = compile_plan(PLAN, tools=given, policy=policy).plan
    assert plan is not None
    args = cast("dict[str, Value]", plan.plan.steps[1].args)
    args["to"] = Literal("eve@evil.example")
    with pytest.raises(ApprovalRequired):
        asyncio.run(run(plan, given))
    assert calls == []
