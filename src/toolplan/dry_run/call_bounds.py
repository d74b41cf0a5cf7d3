"""How often the steps of a plan can be called, as far as is known before a run."""

from __future__ import annotations

from collections.abc import Mapping

from toolplan.dry_run.sample_values import Reading, SampleValues, list_behind
from toolplan.dry_run.scenarios import CallBounds
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Array, Limits, Literal, Ref, Step, step_refs
from toolplan.schema import Schema
from toolplan.tools import Tool


def call_bounds(
    plan: ExecutionPlan, tools: Mapping[str, Tool], samples: SampleValues, limits: Limits
) -> dict[str, CallBounds]:
    """Return the fewest and most calls of each step, by its id, in the written order."""
    steps = {step.id: step for step in plan.plan.steps}
    uncertain: set[str] = set()  # may be skipped
    found: dict[str, CallBounds] = {}
    for name in plan.order:
        step = steps[name]
        least, most = _items(step, samples, limits)
        if step.when is not None or any(ref.step in uncertain for _, ref in step_refs(step)):
            uncertain.add(name)
            least = 0
        tries = 1 + step.retries if tools[step.tool].may_repeat else 1
        pages = 1 if step.pages is None else step.max_pages
        found[name] = CallBounds(least, min(most * pages, limits.calls) * tries)
    return {name: found[name] for name in steps if name in found}


def _items(step: Step, samples: SampleValues, limits: Limits) -> tuple[int, int]:
    """Return the fewest and the most items of a step: 1 and 1 where it has no `for_each`."""
    most = min(step.max_items, limits.items)
    match step.for_each:
        case None:
            return 1, 1
        case Literal(list(items)) | Array(items):
            return min(len(items), most), min(len(items), most)
        case Ref() as ref:
            least, longest = _lengths(samples.reading(list_behind(ref), None))
            most = most if longest is None else min(most, longest)
            return min(least, most), most
        case _:
            return 0, most


def _lengths(reading: Reading) -> tuple[int, int | None]:
    """Return the fewest and the most elements that a schema gives to a list."""
    node = reading.node if isinstance(reading, Schema) else None
    if not isinstance(node, dict) or node.get("type") != "array":
        return 0, None
    least, most = node.get("minItems"), node.get("maxItems")
    return least if isinstance(least, int) else 0, most if isinstance(most, int) else None
