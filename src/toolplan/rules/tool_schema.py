"""The rule `tool-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def tool_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose input schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere or to itself without end, or
    would take exponential work. Nothing outside of the schema is ever fetched. Other tools of the
    same source stay usable. A tool that differs from the one that was accepted
    (`toolplan.lock.json`) is not used either.

    How to fix: correct the tool where it is defined, accept its change, or use another tool.
    """
    if context.tools is None or context.has_only_sound_tools:
        return
    for position, step in enumerate(context.plan.steps):
        tool = context.tools.get(step.tool)
        if tool is not None and tool.unusable is not None:
            yield Problem(
                f"The tool {tool.name!r} cannot be used: {tool.unusable}.",
                f"/steps/{position}/tool",
                step.id,
                tool.remedy,
            )
