"""The rule `tool-not-allowed`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def tool_not_allowed(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool that this session does not allow.

    Whoever sets up a session may name the tools that its plans may use. The limit holds for every
    plan, whoever wrote it, and is part of what an approval covers.

    Way out: use another tool, or allow this one.
    """
    if context.allowed is None:
        return
    for position, step in enumerate(context.plan.steps):
        if step.tool and step.tool not in context.allowed:
            yield Problem(
                f"The tool {step.tool!r} may not be used here.",
                f"/steps/{position}/tool",
                step.id,
                "The tools that may be used are named by `allow`; add it there, or do without it.",
            )
