"""The rule `tool-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def tool_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose input schema cannot be used.

    A schema that is no JSON Schema, refers to what is not in it, refers to itself without end or
    would take exponential work is never used; nothing outside of it is ever fetched. Other tools of
    the same source stay usable.

    A tool that is not the one that was accepted (`toolplan.lock.json`) is not used either.

    Way out: have the tool mended where it comes from, accept its change, or use another.
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
