"""The rule `cannot-page`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def cannot_page(context: PlanContext) -> Iterator[Problem]:
    """A step asks for all pages of a tool that has none, or that may change something.

    `pages` repeats a call with the next page number, offset or cursor. The tool needs an argument
    for that (`page`, `offset`, `cursor` and the like, or what `x-pages` names), and may only read:
    a call that changes something is never repeated.

    How to fix: remove `pages`.
    """
    for position, step in enumerate(context.plan.steps):
        if step.pages is None:
            continue
        tool = context.tool(step)
        if tool is None:
            continue
        if tool.has_effects:
            reason = "may change something, and is called once only"
        elif tool.paging is None or not tool.paging.can_page:
            reason = "has no argument that asks for a further page"
        else:
            continue
        pointer = f"/steps/{position}/pages"
        yield Problem(
            f"{step.tool!r} {reason}.",
            pointer,
            step.id,
            "Remove `pages`.",
            Fix(False, (Edit(pointer, REMOVED),)),
        )
