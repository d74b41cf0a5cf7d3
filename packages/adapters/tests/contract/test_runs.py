"""Plans by contracts are drafts like any other: checked, run, and recorded in the STATE again."""

import asyncio
import json
from itertools import pairwise

import pytest

from packages.adapters.tests.contract.agents import FILES, JUDGING, contracts, toolbox
from packages.adapters.tests.contract.planning import TODAY, planner, rows, state, tasks
from toolplan import App, AskResult, Effects, Tool, Toolbox, compile_plan, run
from toolplan.events import Event, Failure, Run, StepRun, StepState
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Clarification, Draft, Question
from toolplan.planners.fallback import FallbackChain
from toolplan_adapters.contract import ContractPlanner, Contracts, StateError, read_text, state_of
from toolplan_adapters.network import NETWORK_TOOLS
from toolplan_demo import TOOLS
from toolplan_offline import OfflinePlanner

TWO = (("site", "A"), ("site", "B"))


def ask(
    known: Contracts, tools: Toolbox, given: dict[str, Json], *, knowledge: bool = True
) -> tuple[AskResult, list[Event], dict[str, Json]]:
    """Return the result for a STATE, what happened, and the STATE planned."""
    planner = ContractPlanner(known, knowledge="always" if knowledge else "never")
    events: list[Event] = []
    app = App(tools, planner)
    asked = asyncio.run(app.ask("?", today=TODAY, context={"state": given}, on_event=events.append))
    return asked, events, planner.plan(given)


def test_a_run_is_recorded_in_the_state() -> None:
    """F001-11, F001-13: status and outputs of each task, downstream from upstream outputs."""
    known = contracts()
    asked, events, planned = ask(known, toolbox(known), state("judging", *TWO))
    assert asked.run is not None
    done = state_of(planned, asked.run)
    assert [(task["id"], task["owner"], task["status"]) for task in tasks(done)] == [
        ("T1", "Librarian", "completed"),
        ("T2", "Fetcher", "completed"),
        ("T3", "Judge", "completed"),
    ]
    assert [task["outputs"] for task in tasks(done)] == [
        {"notes": ["a", "b"]},
        {"facts": {"rows": ["A", "B"], "extras": []}},
        {"verdict": ["A", "B"], "notes": ["a", "b"]},
    ]
    assert state_of(planned, events) == done
    assert all(task["status"] == "pending" for task in tasks(planned))
    trace = done["trace"]
    assert isinstance(trace, dict)
    assert trace["node_run_order"] == ["Planner", "Librarian", "Fetcher", "Judge"]


def test_the_state_follows_the_events() -> None:
    """F001-11: pending, in_progress, completed; each prefix of the events has its STATE."""
    known = contracts()
    _, events, planned = ask(known, toolbox(known), state("judging", *TWO))
    seen = [
        tuple(str(task["status"]) for task in tasks(state_of(planned, events[:upto])))
        for upto in range(len(events) + 1)
    ]
    order = ["pending", "in_progress", "completed"]
    for before, after in pairwise(seen):
        assert all(order.index(a) <= order.index(b) for a, b in zip(before, after, strict=True))
    assert seen[0] == ("pending",) * 3
    assert ("completed", "in_progress", "pending") in seen


def test_folding_again_changes_nothing_more() -> None:
    """F001-13."""
    known = contracts()
    asked, _, planned = ask(known, toolbox(known, ["fetcher"]), state("judging", *TWO))
    assert asked.run is not None
    once = state_of(planned, asked.run)
    assert state_of(once, asked.run) == once


def test_what_is_required_and_fails_stops_those_who_need_it() -> None:
    """F001-24, C-25: with the reason, noted in the trace; the task that never ran is `skipped`."""
    known = contracts()
    asked, _, planned = ask(known, toolbox(known, ["fetcher"]), state("judging", *TWO))
    assert asked.run is not None
    assert not asked.run.succeeded
    done = state_of(planned, asked.run)
    assert [task["status"] for task in tasks(done)] == ["completed", "failed", "skipped"]
    fetching, judging = (task["outputs"] for task in tasks(done)[1:])
    assert fetching == {"error": {"code": "tool-error", "message": "It is closed."}}
    assert isinstance(judging, dict)
    assert "T2" in json.dumps(judging)
    trace = done["trace"]
    assert isinstance(trace, dict)
    assert [each.get("status") for each in _objects(trace["state_deltas"])] == [
        None,
        "started",
        "started",
        "completed",
        "failed",
        "skipped",
    ]
    written = [each.get("wrote") for each in _objects(trace["state_deltas"])][3:]
    assert written[1:] == [
        [f"plan.tasks[{at}].status", f"plan.tasks[{at}].outputs.error"] for at in (1, 2)
    ]
    assert isinstance(written[0], list)
    assert written[0][0] == "plan.tasks[0].status"
    assert len(written[0]) > 1


def test_what_is_optional_and_fails_is_done_without_and_declared() -> None:
    """F001-24, F001-25: the run continues, and the domain's output says what it did not have."""
    known = contracts()
    asked, _, planned = ask(known, toolbox(known, ["librarian"]), state("judging", *TWO))
    assert asked.run is not None
    assert asked.run.succeeded
    done = state_of(planned, asked.run)
    assert [task["status"] for task in tasks(done)] == ["failed", "completed", "completed"]
    outputs = tasks(done)[-1]["outputs"]
    assert isinstance(outputs, dict)
    assert outputs["verdict"] == ["A", "B"]
    assert {
        "upstream": "librarian",
        "reason": "it returned nothing",
        "priority": "optional",
    } in _objects(outputs["data_gaps"])
    trace = done["trace"]
    assert isinstance(trace, dict)
    assert "It is closed." in json.dumps(trace["state_deltas"])


@pytest.mark.parametrize(("sites", "succeeds"), [(0, False), (1, False), (2, True)])
def test_too_little_of_what_is_required_fails_the_task(sites: int, succeeds: bool) -> None:
    """F001-12, F001-24: `min_count` is `minItems` of the agent's input schema."""
    known = contracts()
    asked, _, _ = ask(known, toolbox(known), state("judging", *TWO[:sites]), knowledge=False)
    assert asked.run is not None
    assert asked.run.succeeded is succeeds
    if not succeeds:
        failure = asked.run.steps["T2"].error
        assert failure is not None
        assert failure.code == "argument-value"
        assert failure.pointer == "/args/upstream/fetcher/facts/rows"


def test_a_plan_says_what_each_agent_is_given() -> None:
    """F001-5, F001-12, F001-13, F001-26: what is required, the scope, and upstream outputs."""
    known = contracts()
    asked, _, _ = ask(known, toolbox(known), state("judging", *TWO))
    assert isinstance(asked.proposal, Draft)
    plan = json.loads(asked.proposal.text)
    first, second, third = plan["steps"]
    assert (first["id"], first["tool"], first["on_error"]) == ("T1", "librarian", "continue")
    assert (second["tool"], second["after"]) == ("fetcher", ["T1"])
    assert "on_error" not in second
    assert [each["data_path"] for each in second["args"]["required_data"]] == [
        "facts.rows",
        "facts.extras",
    ]
    assert third["args"]["upstream"] == {"librarian": "${T1}", "fetcher": "${T2}"}
    assert third["args"]["skill"] == "judging"
    assert third["args"]["scope"]["sites"] == ["A", "B"]
    assert third["thought"] == "Judge A and B"
    assert "after" not in third
    assert plan["metadata"]["planner"] == "contract"
    assert plan["metadata"]["intent"]["intent_class"] == "judging"


def _plain(name: str) -> Tool:
    schema: Json = {
        "type": "object",
        "x-aliases": [name.title()],
        "properties": {"required_data": {"type": "array"}, "scope": {"type": "object"}},
    }

    async def call(arguments: dict[str, Json]) -> Json:
        return {"given": list(arguments)}

    return Tool(name, "", schema, effects=Effects.READ, call=call)


def test_agents_with_a_state_of_their_own_are_planned_in_its_dialect() -> None:
    """F001-11, F001-15: a draft in `state`, where no output is passed on as an argument."""
    known = contracts()
    tools = Toolbox(_plain(name) for name in ("librarian", "fetcher", "judge"))
    given = state("judging", *TWO)
    proposal = ContractPlanner(known).proposal(Question("?", TODAY, {"state": given}), tools)
    assert isinstance(proposal, Draft)
    assert proposal.dialect == "state"
    assert json.loads(proposal.text)["plan"]["routing"] == ["Fetcher", "Judge"]
    compiled = compile_plan(proposal.text, "state", tools=tools)
    assert compiled.plan is not None
    assert [step.tool for step in compiled.plan.plan.steps] == ["fetcher", "judge"]
    ended = asyncio.run(run(compiled.plan, tools))
    assert ended.succeeded
    assert ended.steps["T2"].output == {"given": ["required_data", "scope"]}


def test_a_skill_says_which_outputs_the_user_is_shown() -> None:
    """F001-13: each by its name; by agent where several answer; all where one does not say."""
    shown = JUDGING + "    answer: [verdict, deeper.a]\n"
    same_roots = JUDGING + "    answer: [deeper.a, deeper.b]\n"
    nothing_short = JUDGING + "    answer: [a.x, a.y, x.x]\n"
    other = shown.replace("Judge", "Jury").replace("tool: judge", "tool: jury")

    def output(*texts: str) -> Json:
        more = {f"{at}.yaml": text for at, text in enumerate(texts)}
        base = {name: text for name, text in FILES.items() if name != "judge.yaml"}
        known = Contracts(read_text(name, text) for name, text in {**base, **more}.items())
        names = ("librarian", "fetcher", "judge", "jury")
        tools = Toolbox(Tool(name, "", True) for name in names)
        question = Question("?", TODAY, {"state": state("judging")})
        proposal = ContractPlanner(known).proposal(question, tools)
        assert isinstance(proposal, Draft)
        written: dict[str, Json] = json.loads(proposal.text)
        return written.get("output")

    assert output(shown) == {"verdict": "${T2.verdict}", "deeper": "${T2.deeper.a}"}
    assert output(same_roots) == {"deeper.a": "${T2.deeper.a}", "deeper.b": "${T2.deeper.b}"}
    assert output(nothing_short) == {"a.x": "${T2.a.x}", "a.y": "${T2.a.y}", "x.x": "${T2.x.x}"}
    both = output(shown, other)
    assert isinstance(both, dict)
    assert list(both) == ["judge", "jury"]
    assert output(JUDGING) is None
    assert output(shown, other.partition("    answer")[0]) is None


def test_a_plan_that_passes_no_outputs_on_is_refused_before_any_call() -> None:
    """F001-13: text of `state` has no references, and the demo's agents need what others found."""
    text = json.dumps(planner("always").envelope(state("cbp_assessment", ("site", "HQ"))))
    compiled = compile_plan(text, "state", tools=NETWORK_TOOLS)
    assert compiled.plan is None
    assert [each.code for each in compiled.diagnostics if not each.fixed] == ["missing-argument"]
    assert compiled.diagnostics[-1].message == (
        "'config_best_practice_agent' requires 'upstream', which is missing."
    )


def test_what_fits_no_contract_is_left_to_others() -> None:
    """F001-20, C-27: a question back, never a guess, so that another planner can be asked."""
    contract = planner()
    unknown = Question("Shipments in Berlin last week", TODAY)
    proposal = asyncio.run(contract.propose(unknown, NETWORK_TOOLS, ()))
    assert isinstance(proposal, Clarification)
    assert "cbp_assessment" in proposal.options
    strange = Question("?", TODAY, {"state": state("routing_audit")})
    asked = contract.proposal(strange, NETWORK_TOOLS)
    assert isinstance(asked, Clarification)
    assert "'routing_audit'" in asked.question
    broken = contract.proposal(Question("?", TODAY, {"state": {"intent": []}}), NETWORK_TOOLS)
    assert isinstance(broken, Clarification)
    chain = FallbackChain({"contract": contract, "offline": OfflinePlanner()})
    assert isinstance(asyncio.run(chain.propose(unknown, TOOLS, ())), Draft)


@pytest.mark.parametrize(
    ("episodes", "is_planned"),
    [
        ([{"query": "Assess HQ against best practices"}], True),
        ([{"query": "hello"}, {"query": "Assess HQ against best practices"}], True),
        ([{"query": "hello"}, 7], False),
        (None, False),
    ],
)
def test_a_follow_up_is_read_with_what_was_asked_before(episodes: Json, is_planned: bool) -> None:
    """F001-10: of a conversation that the app keeps, the latest first."""
    question = Question("And what about DataCenter-1?", TODAY, {"episodic": episodes})
    proposal = planner().proposal(question, NETWORK_TOOLS)
    assert isinstance(proposal, Draft) is is_planned
    if isinstance(proposal, Draft):
        steps = json.loads(proposal.text)["steps"]
        assert [step["tool"] for step in steps] == [
            "knowledge_agent",
            "data_query_agent",
            "config_best_practice_agent",
        ]
        assert steps[1]["args"]["scope"]["sites"] == ["DataCenter-1"]


def test_without_the_agents_tools_there_is_no_plan() -> None:
    proposal = planner().proposal(Question("Assess the security of HQ", TODAY), TOOLS)
    assert isinstance(proposal, Clarification)
    assert "'data_query_agent', 'security_assessment_agent'" in proposal.question


def test_a_plan_that_was_tried_is_not_proposed_again() -> None:
    """F001-4, F001-25: it would be the same."""
    question = Question("Assess HQ against best practices", TODAY)
    contract = planner()
    first = asyncio.run(contract.propose(question, NETWORK_TOOLS, ()))
    assert isinstance(first, Draft)
    again = asyncio.run(contract.propose(question, NETWORK_TOOLS, [Attempt(first)]))
    assert isinstance(again, Clarification)


@pytest.mark.parametrize(
    ("step", "status", "outputs"),
    [
        (StepRun(), "pending", {}),
        (StepRun(StepState.RUNNING), "in_progress", {}),
        (StepRun(StepState.WAITING), "in_progress", {}),
        (StepRun(StepState.IN_DOUBT), "in_progress", {}),
        (StepRun(StepState.SUCCEEDED, {"a": 1}), "completed", {"a": 1}),
        (StepRun(StepState.SUCCEEDED, [1]), "completed", {"result": [1]}),
        (StepRun(StepState.CANCELLED), "failed", {}),
        (
            StepRun(StepState.FAILED, error=Failure("timeout", "Too long.")),
            "failed",
            {"error": {"code": "timeout", "message": "Too long."}},
        ),
        (
            StepRun(StepState.SKIPPED, error=Failure("upstream-failed", "T1 failed.")),
            "skipped",
            {"error": {"code": "upstream-failed", "message": "T1 failed."}},
        ),
    ],
)
def test_each_state_of_a_step_is_a_status(step: StepRun, status: str, outputs: Json) -> None:
    """F001-11, C-25: `skipped` is an extension."""
    planned = planner().plan(state("cbp_assessment"))
    before = rows(planned)
    done = state_of(planned, Run("r", steps={"T1": step}))
    assert (tasks(done)[0]["status"], tasks(done)[0]["outputs"]) == (status, outputs)
    assert tasks(done)[1]["status"] == "pending"
    assert rows(done) == before


def test_two_tasks_of_one_owner_are_distinguished() -> None:
    """F001-26: by their ids."""
    one: Json = {"id": "T1", "owner": "A", "status": "pending", "outputs": {}}
    two: Json = {"id": "T2", "owner": "A", "status": "pending", "outputs": {}}
    run_of_two = Run("r", steps={"T2": StepRun(StepState.SUCCEEDED, {"x": 1})})
    done = state_of({"plan": {"tasks": [one, two], "routing": ["A", "A"]}}, run_of_two)
    assert [task["outputs"] for task in tasks(done)] == [{}, {"x": 1}]


def test_a_state_without_tasks_cannot_be_folded_into() -> None:
    with pytest.raises(StateError, match="/plan/tasks"):
        state_of({"plan": {}}, Run())


def _objects(value: Json) -> list[dict[str, Json]]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]
