"""The rule `unused-step`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan import refs
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def unused_step(context: PlanContext) -> Iterator[Problem]:
    """A step only reads, and nothing uses its output.

    The step neither leads to the plan's `output` nor changes anything, so its call is wasted. A
    plan without `output` returns what no step refers to, so none of its steps is unused.

    How to fix: remove the step, or name it in the output.
    """
    if context.plan.output is None:
        return
    used = {ref.step for ref in refs(context.plan.output)}
    if not used & context.steps.keys():  # it names unknown steps: another rule reports that
        return
    pending = list(used)
    while pending:
        needed = context.needs.get(pending.pop(), ())
        pending += [each for each in needed if each not in used]
        used.update(needed)
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if step.id not in used and tool is not None and not tool.has_effects:
            yield Problem(
                f"Nothing uses the output of {step.id!r}, and its tool changes nothing.",
                f"/steps/{position}",
                step.id,
                "Remove the step, or name it in the plan's output.",
                Fix(False, (Edit(f"/steps/{position}", REMOVED),)),
            )
