"""What rules know of a plan, where it is large or goes round."""

from collections.abc import Mapping

import pytest

from toolplan.compiler import check
from toolplan.compiler.rules import PlanContext
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ComputedOutput, Effects, Tool, Toolbox

LENGTH = 2_000


def grown(literals: Mapping[str, Json], schemas: Mapping[str, Schema | None]) -> ComputedOutput:
    """Return the schema of a list of what comes in; an integer where nothing does."""
    inner = schemas.get("/of")
    return ComputedOutput(Schema.load({"type": "integer" if inner is None else "string"}))


TOOLS = Toolbox(
    [
        Tool(
            "grow",
            "",
            {"type": "object", "properties": {"of": {}}},
            effects=Effects.READ,
            compute_output=grown,
        )
    ]
)


def chain(length: int) -> tuple[Step, ...]:
    return tuple(
        Step(f"s{n}", "grow", {"of": Ref(f"s{n - 1}")} if n else {}) for n in range(length)
    )


@pytest.mark.parametrize("way", [1, -1], ids=["in order", "last first"])
def test_a_chain_of_computed_outputs_may_be_as_long_as_the_plan(way: int) -> None:
    plan = Plan(chain(LENGTH)[::way])
    assert check(plan, TOOLS) == []
    last = PlanContext(plan, TOOLS).output(f"s{LENGTH - 1}")
    assert last is not None
    assert last.node == {"type": "string"}


def test_a_cycle_of_computed_outputs_is_reported_and_ends() -> None:
    steps = [Step(f"s{n}", "grow", {"of": Ref(f"s{(n + 1) % 50}")}) for n in range(50)]
    assert [each.code for each in check(Plan(tuple(steps)), TOOLS)] == ["cycle"]


def test_a_step_that_reads_one_twice_waits_for_it_once() -> None:
    steps = (Step("a", "grow"), Step("b", "grow", {"of": Ref("a"), "more": Ref("a")}, after=("a",)))
    context = PlanContext(Plan(steps), TOOLS)
    assert context.needs == {"a": (), "b": ("a",)}
    assert len(context.readers["a"]) == 2
