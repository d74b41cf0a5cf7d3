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
    """The steps with `for_each` may make more calls than a run is allowed to make.

    The limits of all steps (`max_items`) are added up before anything runs. The engine stops at the
    limit in any case, but then part of the work is done and part is not. A list that is written out
    and longer than `max_items` is reported too: its step would fail.

    How to fix: set `max_items` to the number that you expect.
    """
    for position, step in context.elaborate:
        listed = step.for_each
        if isinstance(listed, Literal) and isinstance(listed.value, list):
            most = min(step.max_items, LIMITS.items)
            if len(listed.value) > most:
                yield Problem(
                    f"The list has {len(listed.value)} items; the step takes at most {most}.",
                    f"/steps/{position}/for_each",
                    step.id,
                    f"Set `max_items` (at most {LIMITS.items}), or write a shorter list.",
                )
    fans = [step for _, step in context.elaborate if step.for_each is not None]
    total = sum(_items(context, step) for step in fans) + len(context.plan.steps) - len(fans)
    if total > LIMITS.calls:
        largest = max(fans, key=lambda step: _items(context, step), default=None)
        yield Problem(
            f"The steps may make {total} calls; a run may make {LIMITS.calls}.",
            "/steps",
            None if largest is None else largest.id,
            "Set `max_items` on the steps with `for_each`.",
        )


def _items(context: PlanContext, step: Step) -> int:
    """Return the most calls of a step with `for_each`: `max_items` or the length of the list."""
    listed = None if step.for_each is None else context.type_of_value(step.for_each, None)
    node = None if listed is None else listed.node
    longest = node.get("maxItems") if isinstance(node, dict) else None
    if isinstance(step.for_each, Literal) and isinstance(step.for_each.value, list):
        longest = len(step.for_each.value)
    most = min(step.max_items, LIMITS.items)
    return min(most, longest) if isinstance(longest, int) else most
