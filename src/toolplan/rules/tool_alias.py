"""The rule `tool-alias`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Edit, Fix, Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def tool_alias(context: PlanContext) -> Iterator[Problem]:
    """A step calls a tool by one of its other names.

    A tool may keep its former names (`x-aliases` at the root of its input schema). They are
    replaced by the current name before anything else is checked, so that a plan is approved and run
    under that name.

        {"id": "a", "tool": "shipments"}     'shipments' is another name of 'shipments_list'.

    How to fix: nothing; the name is corrected.
    """
    if context.tools is None or context.has_only_sound_tools:
        return
    for position, step in enumerate(context.plan.steps):
        name = context.tools.alias(step.tool)
        if name is not None and step.tool not in context.tools:
            pointer = f"/steps/{position}/tool"
            yield Problem(
                f"{step.tool!r} is another name of the tool {name!r}.",
                pointer,
                step.id,
                f"Write {name!r}.",
                Fix(True, (Edit(pointer, name),)),
            )
