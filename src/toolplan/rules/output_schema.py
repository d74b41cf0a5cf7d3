"""The rule `output-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def output_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose output schema cannot be used.

    It is no JSON Schema, refers to what is not in it, or would take too much work. The tool can be
    called all the same; what it gives is taken as not declared, so references to it are not checked
    before the run, and its results are not checked in it.

    Way out: have the schema mended where the tool comes from.
    """
    if context.tools is None or context.has_only_sound_tools:
        return
    for position, step in enumerate(context.plan.steps):
        tool = context.tools.get(step.tool)
        if tool is not None and tool.output_fault is not None:
            yield Problem(
                f"What {tool.name!r} gives is not declared in a way that can be used: "
                f"{tool.output_fault}.",
                f"/steps/{position}/tool",
                step.id,
                "The tool's own schema must be mended where the tool comes from.",
            )
