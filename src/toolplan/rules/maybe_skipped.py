"""The rule `maybe-skipped`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def maybe_skipped(context: PlanContext) -> Iterator[Problem]:
    """A step refers to a step that may be skipped, and is then skipped with it.

    A step whose `when` is false returns nothing, so steps that refer to it cannot run. That may be
    what you want.

    How to fix: nothing, if it is intended; otherwise use `after`, which a skipped step satisfies.
    """
    if not any(step.when for _, step in context.elaborate):
        return
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        if source is not None and source.when is not None and source.id != use.step.id:
            yield Problem(
                f"{use.step.id!r} will be skipped whenever {source.id!r} is.",
                use.pointer,
                use.step.id,
                f"{source.id!r} has a `when`. Use `after` if only the order matters.",
            )
