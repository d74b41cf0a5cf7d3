"""The rule `fan-out-large`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.diagnostics import Severity
from toolplan.plan import Limits, Literal, Step
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule

LIMITS: Final = Limits()


@rule(Severity.WARNING)
def fan_out_large(context: PlanContext) -> Iterator[Problem]:
    """The steps with `for_each` may make more calls than a run may make.

    Each has a bound, `max_items`; what they come to together is reckoned before anything runs. The
    engine stops at the limit in any case, but then some of the work is done and some is not.

    Way out: set `max_items` to what is really expected.
    """
    fans = [step for _, step in context.elaborate if step.for_each is not None]
    total = sum(_items(context, step) for step in fans) + len(context.plan.steps) - len(fans)
    if total > LIMITS.calls:
        largest = max(fans, key=lambda step: _items(context, step), default=None)
        yield Problem(
            f"The steps may make {total} calls together; a run makes {LIMITS.calls} at the most.",
            "/steps",
            None if largest is None else largest.id,
            "Bound the steps that have `for_each` with `max_items`.",
        )


def _items(context: PlanContext, step: Step) -> int:
    """Return the most calls of a step with `for_each`: its own bound, or the list's, if lower."""
    listed = None if step.for_each is None else context.type_of_value(step.for_each, None)
    node = None if listed is None else listed.node
    longest = node.get("maxItems") if isinstance(node, dict) else None
    if isinstance(step.for_each, Literal) and isinstance(step.for_each.value, list):
        longest = len(step.for_each.value)
    most = min(step.max_items, LIMITS.items)
    return min(most, longest) if isinstance(longest, int) else most
