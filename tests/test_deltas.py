"""What is done stays done when a run continues with another plan."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolplan import App, Approval, Journal, Tool, Toolbox, ToolError, approve, compile_plan
from toolplan.engine import CannotRun, run
from toolplan.engine.deltas import Delta, delta
from toolplan.events import Event, RunEnded, RunState, StepSucceeded
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Draft, Proposal, Question, Refusal
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments, Effects
from toolplan.storage.journal import recover
from toolplan.testing import ScriptedPlanner

CALLED: Counter[str] = Counter()
FINISHED: set[str] = set()
FAILING: set[str] = set()


@pytest.fixture(autouse=True)
def fresh() -> None:
    forget()


def forget() -> None:
    CALLED.clear()
    FINISHED.clear()
    FAILING.clear()


def worker(name: str, effects: Effects) -> Tool:
    async def call(args: Arguments) -> Json:
        key = f"{name}/{args['key']}"
        CALLED[key] += 1
        if key in FAILING:
            raise ToolError("no luck")
        FINISHED.add(key)
        return {"key": args["key"], "rows": [f"{args['key']}.{at}" for at in range(3)]}

    schema: Json = {"type": "object", "properties": {"key": {}, "from": {}}, "required": ["key"]}
    return Tool(name, f"Does {name}.", schema, None, effects, call=call)


TOOLS = Toolbox(
    [
        worker("read", Effects.READ),
        worker("other", Effects.READ),
        worker("write", Effects.WRITE),
        worker("rewrite", Effects.WRITE),
    ]
)
Steps = list[dict[str, Any]]


def step(id_: str, tool: str = "read", *, source: str = "", **more: Json) -> dict[str, Any]:
    args: dict[str, Json] = {"key": id_}
    if source:
        args["from"] = f"${{{source}.key}}"
    return {"id": id_, "tool": tool, "args": args, **more}


def draft(steps: Steps) -> Draft:
    return Draft(json.dumps({"toolplan": 1, "steps": steps}))


def compiled(steps: Steps) -> ExecutionPlan:
    found = compile_plan(draft(steps).text, tools=TOOLS)
    assert found.plan is not None, found.diagnostics
    return found.plan


def ran(steps: Steps) -> tuple[ExecutionPlan, list[Event]]:
    plan, events = compiled(steps), list[Event]()
    approval = approve(plan) if plan.effects else None
    asyncio.run(run(plan, TOOLS, approval=approval, on_event=events.append))
    return plan, events


def test_what_is_done_is_kept_under_whatever_name() -> None:
    FAILING.add("read/b")
    before, events = ran([step("a"), step("b", source="a"), step("c", source="b")])
    renamed = [
        {"id": "first", "tool": "read", "args": {"key": "a"}},
        {"id": "second", "tool": "other", "args": {"key": "b", "from": "${first.key}"}},
    ]
    found = delta(before, events, compiled(renamed))
    assert found.kept == {"first": "a"}
    assert (found.added, found.removed) == (("second",), ("b", "c"))
    assert found.unapproved == ()


def test_a_step_that_reads_what_is_made_anew_is_not_kept() -> None:
    before, events = ran([step("a"), step("b", source="a")])
    other = [{**step("a"), "args": {"key": "A"}}, step("b", source="a")]
    assert delta(before, events, compiled(other)).kept == {}
    # twice the same call, of which one is done: what reads the other one is not done
    twice = [step("a"), {**step("x"), "args": {"key": "a"}}, step("b", source="x")]
    assert delta(before, events, compiled(twice)).kept == {"a": "a"}


def test_only_changed_effects_need_approval_again() -> None:
    FAILING.add("read/b")
    steps = [step("w", "write"), step("b"), step("v", "write", source="b")]
    before, events = ran(steps)
    corrected = [step("w", "write"), {**step("b"), "tool": "other"}, step("v", "write", source="b")]
    found = delta(before, events, compiled(corrected))
    assert found.kept == {"w": "w"}
    assert found.unapproved == ("v",), "what it writes comes from elsewhere now"
    again = delta(before, events, compiled([*steps, step("more")]))
    assert again.kept == {"w": "w"}
    assert again.unapproved == (), "all that comes before it is as it was, and it was not begun"


@pytest.mark.parametrize("change", ["after", "on_error", "max_items", "when"])
def test_an_effect_without_its_guard_needs_approval(change: str) -> None:
    """What stood before an effect when it was allowed is a part of what was allowed."""
    FAILING.add("read/guard")
    fan: dict[str, Any] = {"id": "v", "tool": "write", "args": {"key": "v"}, "after": ["guard"]}
    if change == "max_items":
        fan |= {"for_each": "${rows.rows}", "args": {"key": "${item}"}, "max_items": 3}
    if change == "when":
        fan["when"] = {"value": "${rows.key}", "is": {"const": "rows"}}
    before, events = ran([step("rows"), step("guard"), fan])
    changed = json.loads(json.dumps([step("rows"), step("guard"), fan]))
    match change:
        case "after":
            del changed[2]["after"]
        case "on_error":
            changed[1]["on_error"] = "continue"
        case "max_items":
            changed[2]["max_items"] = 900
        case _:
            del changed[2]["when"]
    assert CALLED["write/v"] == 0
    assert delta(before, events, compiled(changed)).unapproved == ("v",)


def test_finished_items_are_kept() -> None:
    fan = {"id": "f", "tool": "read", "for_each": "${a.rows}", "args": {"key": "${item}"}}
    FAILING.add("read/a.1")
    before, events = ran([step("a"), fan, step("z", source="a")])
    assert CALLED["read/a.0"] == CALLED["read/a.2"] == 1
    after = compiled([step("a"), {**fan, "id": "again"}])
    found = delta(before, events, after)
    assert found.kept == {"a": "a"}
    assert found.partly == {"again": "f"}
    FAILING.clear()
    ended = asyncio.run(run(after, TOOLS, done=found.events))
    assert ended.succeeded
    assert CALLED["read/a"] == CALLED["read/a.0"] == CALLED["read/a.2"] == 1
    assert CALLED["read/a.1"] == 2
    output = json.dumps(ended.steps["again"].output)
    assert [output.index(f'"key": "a.{at}"') for at in range(3)] == sorted(
        output.index(f'"key": "a.{at}"') for at in range(3)
    )


def test_items_that_failed_are_made_again_though_the_step_went_on() -> None:
    fan = {"id": "f", "tool": "read", "for_each": ["x", "y"], "args": {"key": "${item}"}}
    FAILING.update({"read/y", "read/z"})
    before, events = ran([{**fan, "on_error": "continue"}, step("z")])
    FAILING.clear()
    after = compiled([fan])
    found = delta(before, events, after)
    assert (found.kept, found.partly) == ({}, {"f": "f"})
    ended = asyncio.run(run(after, TOOLS, done=found.events))
    assert ended.succeeded
    assert "null" not in json.dumps(ended.steps["f"].output)
    assert (CALLED["read/x"], CALLED["read/y"]) == (1, 2)


def test_where_more_is_not_approved_what_ran_is_reported() -> None:
    FAILING.add("read/b")
    first = draft([step("w", "write"), step("b", after=["w"])])
    second = draft([step("w", "write"), step("v", "write")])
    given: list[str] = []

    def once(plan: ExecutionPlan) -> Approval | None:
        given.append(plan.digest)
        return approve(plan) if len(given) == 1 else None

    app = App(TOOLS, ScriptedPlanner(first, second))
    asked = asyncio.run(app.ask("?", today="2025-10-12", approve=once, replan=True))
    assert len(given) == 2
    assert (CALLED["write/w"], CALLED["write/v"]) == (1, 0)
    assert asked.run is not None
    assert asked.run.steps["w"].output is not None
    assert asked.unapproved is not None
    assert asked.unapproved.digest == given[1]


def test_results_that_are_taken_over_are_in_the_journal(tmp_path: Path) -> None:
    FAILING.add("read/b")
    before, events = ran([step("a"), step("b", source="a")])
    after = compiled([step("a"), step("c", "other", source="a")])
    found = delta(before, events, after)
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        ended = asyncio.run(run(after, TOOLS, journal=journal, run_id="r", done=found.events))
        kept = recover(journal.events("r"))
    assert ended.succeeded
    assert set(kept.over) == {"a", "c"}
    assert CALLED["read/a"] == 1


def test_only_results_of_the_plan_are_taken_over() -> None:
    plan = compiled([step("a")])
    strange = StepSucceeded("zebra", None, 1, None, 0.0)
    with pytest.raises(CannotRun, match="zebra"):
        asyncio.run(run(plan, TOOLS, done=[strange]))
    with pytest.raises(CannotRun, match="RunEnded"):
        asyncio.run(run(plan, TOOLS, done=[recovered_end()]))
    assert not CALLED


def recovered_end() -> Event:
    _, events = ran([step("e")])
    CALLED.clear()
    return next(event for event in events if isinstance(event, RunEnded))


def test_a_run_with_effects_continues_only_where_that_is_asked_for() -> None:
    FAILING.add("read/b")
    first = draft([step("w", "write"), step("b", after=["w"])])
    second = draft([step("w", "write"), {**step("b", after=["w"]), "tool": "other"}])
    reported: list[Delta] = []
    approved: list[str] = []

    def agree(plan: ExecutionPlan) -> Approval:
        approved.append(plan.digest)
        return approve(plan)

    for replan in (False, True):
        app = App(TOOLS, ScriptedPlanner(first, second))
        asking = app.ask(
            "?", today="2025-10-12", approve=agree, replan=replan, on_delta=reported.append
        )
        assert asyncio.run(asking).succeeded is replan
    assert CALLED["write/w"] == 2, "once in each of the two sessions"
    assert len(approved) == 2, "what was let happen is not asked about again"
    assert [each.kept for each in reported] == [{"w": "w"}]


def test_a_plan_that_brings_it_no_nearer_is_the_last() -> None:
    """The measure: steps that are not done must become fewer."""
    FAILING.update({"read/a", "other/a", "write/a"})
    plans = [draft([{**step("a"), "tool": tool}]) for tool in ("read", "other", "write", "rewrite")]
    app = App(TOOLS, ScriptedPlanner(*plans), attempts=9)
    asked = asyncio.run(app.ask("?", today="2025-10-12", approve=approve, replan=True))
    assert not asked.succeeded
    assert len(asked.attempts) == 2
    assert CALLED == {"read/a": 1, "other/a": 1}


@pytest.mark.parametrize("on_error", ["fail", "continue"])
def test_another_plan_never_repeats_what_may_have_happened(on_error: str) -> None:
    """Three charges for one question: each plan made the call whose result could not be used."""
    charges: list[Json] = []

    async def charge(args: Arguments) -> Json:
        charges.append(args["key"])
        return {"id": "ch_1"}

    schema: Json = {"type": "object", "properties": {"key": {}}}
    output: Json = {"type": "object", "properties": {"id": {"type": "integer"}}}
    tool = Tool("charge", "Charges a card.", schema, output, Effects.WRITE, call=charge)
    plans = [
        draft([{"id": name, "tool": "charge", "args": {"key": "a"}, "on_error": on_error}])
        for name in ("one", "two", "three")
    ]
    app = App(Toolbox([*TOOLS.values(), tool]), ScriptedPlanner(*plans))
    asked = asyncio.run(app.ask("?", today="2025-10-12", approve=approve, replan=True))
    assert charges == ["a"]
    assert asked.run is not None
    assert asked.run.status is RunState.IN_DOUBT
    assert asked.run.steps["one"].doubts[0].result == {"json": {"id": "ch_1"}}
    assert not asked.succeeded


def test_an_answer_that_falls_short_is_asked_for_more() -> None:
    wanted = 3
    plans = [draft([step(f"s{n}") for n in range(upto)]) for upto in (1, 2, 3, 4)]
    app = App(
        TOOLS,
        ScriptedPlanner(*plans),
        attempts=9,
        assess=lambda asked: wanted - len(asked.plan.plan.steps) if asked.plan else wanted,
    )
    asked = asyncio.run(app.ask("?", today="2025-10-12"))
    assert asked.succeeded
    assert len(asked.attempts) == 3
    assert set(CALLED.values()) == {1}


class Replanner:
    """Proposes a plan, and after each failed run a change of it by chance."""

    def __init__(self, chance: random.Random, steps: Steps) -> None:
        self._chance = chance
        self._steps = steps

    async def propose(
        self, question: Question, tools: Toolbox, attempts: Sequence[Attempt], **_: object
    ) -> Proposal:
        if attempts:
            done = {e.step for e in attempts[-1].events if isinstance(e, StepSucceeded)}
            self._change([each for each in self._steps if each["id"] not in done])
        return draft(self._steps) if self._steps else Refusal("Nothing is left.")

    def _change(self, undone: Steps) -> None:
        chance = self._chance
        for each in undone:
            match chance.randrange(4):
                case 0:
                    other = {"read": "other", "other": "read", "write": "rewrite"}
                    each["tool"] = other.get(each["tool"], "write")
                case 1 if not any(f"${{{each['id']}." in json.dumps(s) for s in self._steps):
                    self._steps.remove(each)
                case 2:
                    each["args"].pop("from", None)
                case _:
                    pass
        if chance.random() < 0.3:
            self._steps.append(step(f"n{len(self._steps)}x{chance.randrange(1000)}"))
        if chance.random() < 0.3:
            renamed = {
                each["id"]: f"r{at}_{chance.randrange(1000)}" for at, each in enumerate(self._steps)
            }
            self._rename(renamed)

    def _rename(self, names: dict[str, str]) -> None:
        for each in self._steps:
            each["id"] = names[each["id"]]
            source = each["args"].get("from")
            if source is not None:
                each["args"]["from"] = f"${{{names[source[2:-5]]}.key}}"


def random_steps(chance: random.Random) -> Steps:
    steps: Steps = []
    for at in range(chance.randint(2, 9)):
        tool = chance.choice(["read", "read", "other", "write"])
        source = chance.choice(steps)["id"] if steps and chance.random() < 0.6 else ""
        steps.append(step(f"s{at}", tool, source=source))
    return steps


def test_finished_steps_are_never_called_again_over_500_failures() -> None:
    """0 finished steps called again, all work kept that the new plan has a use for, always ends."""
    kept = 0
    for seed in range(500):
        forget()
        chance = random.Random(seed)
        steps = random_steps(chance)
        keys = [f"{tool}/{s['args']['key']}" for s in steps for tool in TOOLS]
        FAILING.update(chance.sample(keys, k=max(1, len(keys) // 3)))
        reported: list[Delta] = []
        app = App(TOOLS, Replanner(chance, steps), attempts=12)
        asking = app.ask(
            "?", today="2025-10-12", approve=approve, replan=True, on_delta=reported.append
        )
        asked = asyncio.run(asking)
        assert asked.run is not None
        assert len(asked.attempts) <= 12
        again = [key for key in FINISHED if CALLED[key] > 1]
        assert again == [], f"seed {seed}"
        kept += sum(len(each.kept) for each in reported)
    assert kept > 300
