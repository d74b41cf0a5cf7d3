"""The rule `retry-unsafe`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def retry_unsafe(context: PlanContext) -> Iterator[Problem]:
    """A step retries a tool that must not be called twice.

    A call that seems to have failed may have done its work. Only a tool that reads, or that
    declares itself idempotent, may be retried.

    How to fix: remove `retries`, or mark the tool as idempotent.
    """
    for position, step in context.elaborate:
        tool = context.tool(step) if step.retries else None
        if tool is not None and not tool.may_repeat:
            pointer = f"/steps/{position}/retries"
            yield Problem(
                f"{step.tool!r} may do its work twice if it is called again.",
                pointer,
                step.id,
                "Only tools that read or are idempotent may be retried.",
                Fix(False, (Edit(pointer, REMOVED),)),
            )
