"""Laws of the dry run, on plans of any kind and on those of the demo."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.dry_run._described import ROW, ROWS, Tools
from tests.planners.planned import QUESTIONS, demo
from tests.plans_strategy import execution_plan, plans
from toolplan import compile_plan, run, simulate
from toolplan.events import StepState
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Tool, Toolbox

SKIPPED, SUCCEEDED = StepState.SKIPPED, StepState.SUCCEEDED


def paged(tool: str) -> dict[str, Json]:
    """Return the page arguments of a tool: plans ask for all pages of `numbered`."""
    return {"page": {"type": "integer", "default": 1}} if tool == "numbered" else {}


@settings(max_examples=60, deadline=None)
@given(plans(max_steps=6))
def test_any_plan_is_simulated_to_an_end_without_a_call(plan: Plan) -> None:
    tools = Tools()
    for name in {step.tool for step in plan.steps}:
        tools.add(name, ROWS if len(name) % 2 else None, **paged(name))
    dry = tools.dry(*plan.steps, output=plan.output)
    assert [*dry.calls] == [step.id for step in plan.steps]
    assert all(bounds.least <= bounds.most for bounds in dry.calls.values())


OUTPUTS: st.SearchStrategy[Json] = st.sampled_from(
    [
        None,
        ROWS,
        ROW,
        {"type": ["string", "integer"]},
        {"enum": ["a", "long enough", 1]},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        {"type": "object", "properties": {"data": {"type": "object"}, "id": {"type": "null"}}},
        {"anyOf": [ROW, {"type": "array", "items": ROW}, {"type": "null"}]},
    ]
)
TWO_READERS = Plan(
    (
        Step("get", "get"),
        Step("one", "one", {"value": Ref("get")}),
        Step("other", "other", {"value": Ref("get")}),
    )
)
RECORDINGS: st.SearchStrategy[list[Json]] = st.lists(
    st.sampled_from([None, 7, "a", [1, 2, 3], [], {"data": [{"id": "x"}]}, {"data": 3}]), max_size=2
)
INPUTS: st.SearchStrategy[dict[str, Json]] = st.sampled_from(
    [
        {},
        {"value": {"type": "string"}},
        {"value": {"type": ["integer", "array"]}, "id": {"type": "string", "minLength": 7}},
        {"value": {"enum": ["a", 1, None]}, "id": {}},
        {
            "value": {
                "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]},
                    {"type": "array", "items": {"enum": [1, "x"]}, "maxItems": 1},
                ]
            }
        },
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.just(TWO_READERS) | plans(max_steps=5), st.data(), st.integers(1, 5))
def test_a_step_with_a_fault_fails_with_other_values_too(
    plan: Plan, data: st.DataObject, seed: int
) -> None:
    described = Tools()
    real: list[Tool] = []
    recordings: dict[str, list[Json]] = {}
    for name in sorted({step.tool for step in plan.steps}):
        output, inputs = data.draw(OUTPUTS), data.draw(INPUTS)
        output = None if paged(name) else output  # else it may state no list that has pages
        described.add(name, output, **inputs, **paged(name))
        recordings[name] = data.draw(RECORDINGS)  # results of other calls, which prove nothing
        tool = described.scripted.toolbox[name]
        # an element that is not there could not show what is wrong with all of them
        given = None if tool.output is None else tool.output.example(seed, items=1 + seed % 3)
        real.append(replace(tool, call=giving(given)))
    dry = described.dry(*plan.steps, output=plan.output, recordings=recordings)
    ended = asyncio.run(run(execution_plan(plan, Toolbox(real)), real, backoff_s=0.0))
    for fault in dry.faults:
        if fault.step:
            step = ended.steps[fault.step]
            # without items there is nothing of which it could be seen
            unseen = step.state is SKIPPED or step.output == []
            assert unseen or step.error is not None, fault


def giving(value: Json) -> Call:
    async def call(args: Arguments) -> Json:
        return value

    return call


def questions() -> list[dict[str, Any]]:
    kept = json.loads((QUESTIONS / "demo.json").read_text(encoding="utf-8"))
    longest = sorted(kept, key=lambda each: -len(json.dumps(each["steps"])))
    return [*longest[:20], *kept[::50]]


@pytest.mark.parametrize("asked", questions(), ids=lambda asked: str(asked["question"])[:40])
def test_plans_of_the_demo_have_no_fault(asked: dict[str, Any]) -> None:
    compiled = compile_plan(json.dumps({"toolplan": 1, "steps": asked["steps"]}), tools=demo())
    assert compiled.plan is not None
    dry = asyncio.run(simulate(compiled.plan, demo()))
    assert (dry.faults, dry.unchecked) == ((), ())
    assert {*dry.scenarios[0].states.values()} == {SUCCEEDED}
