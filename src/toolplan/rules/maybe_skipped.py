"""The rule `maybe-skipped`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def maybe_skipped(context: PlanContext) -> Iterator[Problem]:
    """A step refers to one that may be skipped, and would then be skipped with it.

    A step whose `when` is false gives nothing, so whatever refers to it cannot run either. That may
    be what was meant.

    Way out: none is needed if it was; otherwise use `after`, which is satisfied by a skipped step.
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
