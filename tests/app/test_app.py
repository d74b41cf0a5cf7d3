"""One question, from the asking to the answer."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolplan import (
    ApprovalRequired,
    Journal,
    RunOptions,
    Tool,
    Toolbox,
    ToolError,
    ToolplanError,
    approve,
    resume,
)
from toolplan.app.app import App
from toolplan.events import Event
from toolplan.plan.model import Literal
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft, Proposal, Refusal
from toolplan.policy import Policy
from toolplan.schema.tool import Arguments, Effects
from toolplan.storage.memory import SqliteMemory
from toolplan.testing import Gives, ScriptedModel, ScriptedPlanner, ScriptedTools
from toolplan_demo import TOOLS as DEMO
from toolplan_offline import OfflinePlanner


def draft(*steps: dict[str, Any]) -> Draft:
    return Draft(json.dumps({"toolplan": 1, "steps": list(steps)}))


CALLS: list[str] = []


def tool(name: str, effects: Effects = Effects.READ, *, fails: bool = False) -> Tool:
    async def call(arguments: Arguments) -> Json:
        CALLS.append(name)
        if fails:
            raise ToolError("no luck")
        return {"data": [{"id": "1"}]}

    return Tool(name, f"Does {name}.", {"type": "object"}, None, effects, call=call)


@pytest.fixture(autouse=True)
def fresh_calls() -> None:
    CALLS.clear()


TOOLS = Toolbox([tool("good"), tool("bad", fails=True), tool("write", Effects.WRITE)])
GOOD = draft({"id": "a", "tool": "good"})


def test_a_question_becomes_an_answer() -> None:
    """F000-43."""
    events: list[Event] = []
    shown: list[object] = []
    app = App(TOOLS, ScriptedPlanner(GOOD), clock=lambda: 0.0, new_id=lambda: "r1")
    asked = asyncio.run(
        app.ask("what?", today="2025-10-12", on_plan=shown.append, on_event=events.append)
    )
    assert asked.succeeded
    assert asked.run is not None
    assert asked.run.run == "r1"
    assert asked.answer is not None
    assert asked.plan is not None
    assert asked.plan.plan.metadata["created_at"] == "1970-01-01T00:00:00.000Z"
    assert len(shown) == 1
    assert asked.attempts[0].events == tuple(events)
    assert CALLS == ["good"]


@pytest.mark.parametrize("stated_by", ["policy", "tool", "nobody"])
def test_a_model_never_reads_results_that_are_secret(stated_by: str) -> None:
    async def call(_: Arguments) -> Json:
        return {"data": [{"code": "4711"}]}

    says = {"x-trust": "secret"} if stated_by == "tool" else {}
    output: Json = {"type": "object", "properties": {"data": {"type": "array", **says}}}
    vault = Tool(
        "vault", "Reads.", {"type": "object"}, output, Effects.READ, call=call, source="python"
    )
    policy = Policy(secret=("vault.data",) if stated_by == "policy" else ())
    model = ScriptedModel("The code is 4711.")
    steps = {"id": "a", "tool": "vault"}, {"id": "b", "tool": "good"}
    app = App(
        Toolbox([vault, *TOOLS.values()]),
        ScriptedPlanner(draft(*steps)),
        policy=policy,
        model=model,
    )
    asked = asyncio.run(app.ask("what?", summary="plain"))
    assert (asked.succeeded, asked.reason) == (True, "")
    assert asked.summary is not None
    assert len(model.requests) == (stated_by == "nobody")
    if stated_by != "nobody":
        assert "results of vault are secret" in asked.summary.text
        assert "4711" in asked.summary.text  # the computed answer stays


def test_planning_runs_nothing() -> None:
    asked = asyncio.run(App(TOOLS, ScriptedPlanner(GOOD)).plan("what?", today="2025-10-12"))
    assert asked.plan is not None
    assert asked.run is None
    assert CALLS == []


def test_diagnostics_go_back_to_the_planner() -> None:
    """C-08: the planner receives all that was wrong, and asked again."""
    planner = ScriptedPlanner(draft({"id": "a", "tool": "zebra"}), GOOD)
    assert asyncio.run(App(TOOLS, planner).ask("what?", today="2025-10-12")).succeeded
    assert [len(each.attempts) for each in planner.asked] == [0, 1]
    assert planner.asked[1].attempts[0].diagnostics[0].code == "unknown-tool"


def test_attempts_are_bounded() -> None:
    planner = ScriptedPlanner(*[draft({"id": "a", "tool": "zebra"})] * 5)
    asked = asyncio.run(App(TOOLS, planner, attempts=2).ask("what?", today="2025-10-12"))
    assert asked.plan is None
    assert len(asked.attempts) == 2
    assert CALLS == []
    with pytest.raises(ToolplanError, match="attempt"):
        App(TOOLS, planner, attempts=0)


@pytest.mark.parametrize("proposal", [Clarification("Which?"), Refusal("Never.")])
def test_what_is_no_plan_is_given_as_it_is(proposal: Proposal) -> None:
    asked = asyncio.run(App(TOOLS, ScriptedPlanner(proposal)).ask("what?", today="2025-10-12"))
    assert asked.proposal == proposal
    assert asked.run is None
    assert asked.plan is None


def test_a_failed_run_goes_back_to_the_planner() -> None:
    planner = ScriptedPlanner(draft({"id": "a", "tool": "bad"}), GOOD)
    assert asyncio.run(App(TOOLS, planner).ask("what?", today="2025-10-12")).succeeded
    assert planner.asked[1].attempts[0].events
    assert CALLS == ["bad", "good"]


def test_a_failed_run_stands_where_there_is_no_other_plan() -> None:
    planner = ScriptedPlanner(draft({"id": "a", "tool": "bad"}), Clarification("Tried."))
    asked = asyncio.run(App(TOOLS, planner).ask("what?", today="2025-10-12"))
    assert not asked.succeeded
    assert asked.run is not None
    assert asked.answer is not None
    assert "no luck" in asked.answer.text


def test_a_plan_with_effects_needs_approval() -> None:
    plan = draft({"id": "a", "tool": "write"})
    with pytest.raises(ApprovalRequired):
        asyncio.run(App(TOOLS, ScriptedPlanner(plan)).ask("do it", today="2025-10-12"))
    assert CALLS == []
    app = App(TOOLS, ScriptedPlanner(plan))
    assert asyncio.run(app.ask("do it", today="2025-10-12", approve=approve)).succeeded


def test_a_failed_run_with_effects_is_not_tried_again() -> None:
    plan = draft({"id": "a", "tool": "write"}, {"id": "b", "tool": "bad", "after": ["a"]})
    app = App(TOOLS, ScriptedPlanner(plan, GOOD))
    assert not asyncio.run(app.ask("do it", today="2025-10-12", approve=approve)).succeeded
    assert CALLS == ["write", "bad"]


def test_a_session_remembers_what_was_said_in_its_conversation() -> None:
    """F000-40, F003-3: intent, entities, days and the plan are what one turn passes to the next."""
    memory = SqliteMemory()
    app = App(DEMO, OfflinePlanner(), memory=memory)
    asyncio.run(app.plan("Get facilities in Berlin", today="2025-10-12", conversation="here"))
    again = asyncio.run(app.plan("the same for Munich", today="2025-10-12", conversation="here"))
    assert again.plan is not None
    assert again.plan.plan.steps[0].args == {"location": Literal("Munich")}
    apart = asyncio.run(app.plan("the same for Munich", today="2025-10-12", conversation="there"))
    assert apart.plan is None
    assert "location:Munich" in memory.entities("here")


def test_a_memory_that_fails_is_not_the_reason_why_there_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "memory.sqlite").write_bytes(b"no database" * 500)
    memory = SqliteMemory(tmp_path / "memory.sqlite")
    app = App(DEMO, OfflinePlanner(), memory=memory)
    asked = app.ask("Get facilities in Berlin", today="2025-10-12", conversation="here")
    assert asyncio.run(asked).succeeded


@pytest.mark.parametrize("most", [1, 2])
async def test_a_session_and_who_resumes_its_run_share_the_limit_on_concurrent_calls(
    tmp_path: Path, most: int
) -> None:
    tools = ScriptedTools()
    tools.add("work", Gives(1, delay_s=0.002))
    proposal = draft(*({"id": f"s{at}", "tool": "work"} for at in range(6)))
    run_options = RunOptions(concurrency=5, tool_concurrency={"work": most})
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        app = App(
            tools.toolbox,
            ScriptedPlanner(proposal),
            options=run_options,
            journal=journal,
            new_id=lambda: "r",
        )
        asking = asyncio.ensure_future(app.ask("what?", today="2025-10-12"))
        await tools.started("work", times=most)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        ended = await resume("r", tools.toolbox, journal=journal, run_options=run_options)
        assert ended.succeeded
    assert tools.most_running == most
