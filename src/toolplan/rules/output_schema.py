"""The rule `output-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def output_schema(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool whose output schema cannot be used.

    It is not a valid JSON Schema, has a reference that leads nowhere, or would take too much work.
    The tool can still be called. References to its output are not checked before the run, and its
    results are not checked during the run.

    How to fix: correct the schema where the tool is defined.
    """
    if context.tools is None or context.has_only_sound_tools:
        return
    for position, step in enumerate(context.plan.steps):
        tool = context.tools.get(step.tool)
        if tool is not None and tool.output_fault is not None:
            yield Problem(
                f"The output schema of {tool.name!r} cannot be used: {tool.output_fault}.",
                f"/steps/{position}/tool",
                step.id,
                "Correct the schema where the tool is defined.",
            )
