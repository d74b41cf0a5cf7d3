"""The rule `tool-not-allowed`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def tool_not_allowed(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool that is not allowed here.

    A policy may list the tools that plans may use (`allow`). The list holds for every plan, whoever
    wrote it, and is part of what an approval covers.

    How to fix: use another tool, or add this one to `allow`.
    """
    if context.allowed is None:
        return
    for position, step in enumerate(context.plan.steps):
        if step.tool and step.tool not in context.allowed:
            yield Problem(
                f"The tool {step.tool!r} is not allowed here.",
                f"/steps/{position}/tool",
                step.id,
                "Add it to `allow`, or use another tool.",
            )
