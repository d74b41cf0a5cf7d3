"""The rule `unused-step`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan import refs
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def unused_step(context: PlanContext) -> Iterator[Problem]:
    """A step only reads, and nothing reads what it gives.

    A plan that names its output says what is wanted. A step that neither leads there nor changes
    anything is a call for nothing. A plan without `output` gives whatever nothing refers to, so
    no step of it is unused.

    Way out: leave the step out, or name it in the output.
    """
    if context.plan.output is None:
        return
    used = {ref.step for ref in refs(context.plan.output)}
    if not used & context.steps.keys():  # what it names is not there: another rule tells
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
                f"Nothing reads what {step.id!r} gives, and its tool changes nothing.",
                f"/steps/{position}",
                step.id,
                "Leave the step out, or name it in the plan's output.",
                Fix(False, (Edit(f"/steps/{position}", REMOVED),)),
            )
