"""What holds for any plan that a adapter shows."""

import json

from hypothesis import given, settings

from tests.dialects.strategies import clear_plans, plans
from toolplan import CannotExpress, Plan, Tool, Toolbox, compile_plan, to_text
from toolplan_adapters.clear import Plan as ClearPlan
from toolplan_adapters.clear import PlannerError
from toolplan_adapters.kirha import Step, is_valid_plan

FEW = settings(max_examples=12)


@FEW
@given(clear_plans())
def test_the_clear_adapter_shows_what_its_dialect_writes_and_reads_it_back(plan: Plan) -> None:
    """F000-2, F000-3."""
    adapter = ClearPlan(plan)
    try:
        written = json.loads(to_text(plan, "clear"))
        back = ClearPlan.from_json(written)
    except (CannotExpress, PlannerError):  # a step that waits for itself, say
        return
    assert [step.to_json() for step in adapter.steps] == written["steps"]
    assert back.steps == adapter.steps


@FEW
@given(plans())
def test_every_plan_that_passes_its_check_can_be_shown(plan: Plan) -> None:
    """F000-2, F002-6."""
    tools = Toolbox(Tool(name, "", {}) for name in {step.tool for step in plan.steps})
    compiled = compile_plan(to_text(plan), tools=tools)
    if compiled.plan is None:
        return
    adapter = ClearPlan(compiled.plan.plan)
    assert len(json.loads(json.dumps(adapter.to_json()))["steps"]) == len(plan.steps)
    assert adapter.text == to_text(compiled.plan)
    steps = [Step.of(step) for step in plan.steps]
    assert is_valid_plan(steps, tools.values()).valid
    assert len(json.loads(json.dumps([step.to_json() for step in steps]))) == len(plan.steps)
