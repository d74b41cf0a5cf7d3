"""Apps that are used side by side, left while they work, or given odd approvers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolplan
from toolplan import App, CheckResult, ExecutionPlan, ToolplanError
from toolplan.compiler.rules import PlanContext, Problem, rule
from toolplan.policy.approval import Approver

CALLS: list[str] = []
PLAN = json.dumps(
    {
        "toolplan": 1,
        "steps": [{"id": "a", "tool": "one"}, {"id": "b", "tool": "two", "args": {"v": "${a}"}}],
    }
)


@toolplan.tool(effects="write")
def one() -> str:
    """Write."""
    CALLS.append("one")
    return "written"


def first_two() -> toolplan.Tool:
    @toolplan.tool(effects="read")
    def two(v: str) -> str:
        """Read."""
        CALLS.append("two")
        return v

    return two


def second_two() -> toolplan.Tool:
    @toolplan.tool(effects="read")
    def two(v: str, must: int) -> str:
        """Read, and need more."""
        CALLS.append("two")
        return v * must

    return two


@pytest.fixture(autouse=True)
def fresh_calls() -> None:
    CALLS.clear()


def opened(*tools: toolplan.Tool, **options: Any) -> App:
    return toolplan.open([*tools], on_note=lambda _: None, **options)


def as_it_is(checked: CheckResult) -> CheckResult:
    return checked


def its_plan(checked: CheckResult) -> ExecutionPlan:
    return checked.needed()


@pytest.mark.parametrize("given", [as_it_is, its_plan])
def test_a_plan_that_another_app_checked_is_checked_again(
    given: Callable[[CheckResult], CheckResult | ExecutionPlan],
) -> None:
    with opened(one, first_two()) as its, opened(one, second_two()) as ours, opened() as none:
        checked = its.check(PLAN)
        assert checked.valid
        with pytest.raises(ToolplanError, match="'two' requires 'must'"):
            ours.wait(ours.run(given(checked), yes=True))
        with pytest.raises(ToolplanError, match="'one'"):
            none.wait(none.run(given(checked), yes=True))
        assert CALLS == []
        assert its.wait(its.run(given(checked), yes=True)).succeeded


def test_a_plan_of_the_same_app_is_not_checked_twice() -> None:
    checks: list[int] = []

    @rule()
    def counted(_context: PlanContext) -> tuple[Problem, ...]:
        """Count the checks."""
        checks.append(1)
        return ()

    with opened(one, first_two(), rules=[counted]) as app:
        checked = app.check(PLAN)
        seen = len(checks)
        app.wait(app.run(checked, yes=True))
        app.wait(app.run(checked.needed(), yes=True))
        assert len(checks) == seen > 0


def test_a_run_is_resumed_under_the_rules_of_its_app(tmp_path: Path) -> None:
    wrong = {"toolplan": 1, "steps": [{"id": "a", "tool": "one", "args": {"no": 1}}]}
    with opened(one, rules=[], journal=tmp_path / "runs.sqlite") as app:
        ended = app.wait(app.run(wrong, yes=True))
        assert app.wait(app.resume(ended.run)).status is ended.status


def says_true(_plan: ExecutionPlan) -> bool:
    return True


@pytest.mark.parametrize("approver", [says_true, toolplan.approve])
def test_true_approves_the_plan_that_was_shown(approver: Approver) -> None:
    with opened(one) as app:
        plan = {"toolplan": 1, "steps": [{"id": "a", "tool": "one"}]}
        assert app.wait(app.run(plan, approve=approver)).succeeded
    assert CALLS == ["one"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (False, "approval-required"),
        (None, "approval-required"),
        ("y", "bad-approval"),
        (1, "bad-approval"),
    ],
)
def test_what_is_no_approval_approves_nothing(answer: Any, code: str, tmp_path: Path) -> None:
    with opened(one, journal=tmp_path / "runs.sqlite") as app:
        plan = {"toolplan": 1, "steps": [{"id": "a", "tool": "one"}]}
        with pytest.raises(ToolplanError) as raised:
            app.wait(app.run(plan, approve=lambda _plan: answer))
        assert raised.value.code == code
        assert [entry.status for entry in app.runs()] == ["cancelled"]  # it waits for nobody
    assert CALLS == []


def slow(seconds: float, begun: asyncio.Event | None = None) -> toolplan.Tool:
    @toolplan.tool(effects="read")
    async def nap() -> str:
        """Sleep."""
        CALLS.append("begun")
        if begun is not None:
            begun.set()
        await asyncio.sleep(seconds)
        CALLS.append("done")
        return "slept"

    return nap


NAP = {"toolplan": 1, "steps": [{"id": "a", "tool": "nap"}]}


async def test_leaving_an_app_waits_for_what_is_under_way(tmp_path: Path) -> None:
    journal, begun = tmp_path / "runs.sqlite", asyncio.Event()
    async with opened(slow(0.2, begun), journal=journal) as app:
        task = asyncio.create_task(app.run(NAP))
        await begun.wait()
    assert task.done()
    with pytest.raises(ToolplanError, match="closed"):
        await app.run(NAP)
    assert task.result().succeeded
    assert CALLS == ["begun", "done"]
    async with opened(slow(0), journal=journal) as again:
        assert [entry.status for entry in again.runs()] == ["succeeded"]


async def test_leaving_an_app_after_an_error_cancels_what_is_under_way(tmp_path: Path) -> None:
    journal = tmp_path / "runs.sqlite"

    async def leave() -> None:
        begun = asyncio.Event()
        async with opened(slow(60, begun), journal=journal) as app:
            task = asyncio.create_task(app.run(NAP))
            await begun.wait()
            assert not task.done()
            raise LookupError

    with pytest.raises(LookupError):
        await leave()
    assert CALLS == ["begun"]
    async with opened(slow(0), journal=journal) as again:
        (entry,) = again.runs()
        assert entry.status in ("cancelled", "interrupted")
        assert (await again.resume(entry.run)).succeeded


def test_an_answer_says_why_the_only_plan_is_refused() -> None:
    @rule()
    def closed(_context: PlanContext) -> tuple[Problem, ...]:
        """Say that Berlin is closed."""
        return (Problem("Berlin is closed.", "/steps/0"),)

    with toolplan.open("toolplan_demo:TOOLS", rules=[closed], on_note=lambda _: None) as app:
        asked = app.wait(app.ask("Get facilities in Berlin"))
    assert "Berlin is closed." in str(asked)
