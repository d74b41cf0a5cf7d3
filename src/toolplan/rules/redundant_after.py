"""The rule `redundant-after`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan import step_refs
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def redundant_after(context: PlanContext) -> Iterator[Problem]:
    """`after` names a step that the step already refers to.

    A reference already orders the two steps. Use `after` only for order without a reference.

    How to fix: remove it from `after`.
    """
    for position, step in context.elaborate:
        if not step.after:
            continue
        shown = {ref.step for _, ref in step_refs(step)}
        for at, name in enumerate(step.after):
            if name in shown or name in step.after[:at]:
                pointer = f"/steps/{position}/after/{at}"
                yield Problem(
                    f"{step.id!r} already comes after {name!r}.",
                    pointer,
                    step.id,
                    "Remove it from `after`; a reference or another entry already orders them.",
                    Fix(False, (Edit(pointer, REMOVED),)),
                )
