"""The rule `pattern-not-checked`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def pattern_not_checked(context: PlanContext) -> Iterator[Problem]:
    """A tool's schema has a pattern that is not checked before the call.

    Patterns run on an engine that is linear in the text, which has neither look-around nor
    back-references. Such a pattern is left out of the check; the tool may still refuse the value.

    How to fix: write the pattern without look-around in the tool's schema.
    """
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if tool is not None and step.args and not tool.input.is_whole:
            yield Problem(
                f"A pattern in the schema of {step.tool!r} is not checked: it uses look-around"
                " or back-references.",
                f"/steps/{position}/args",
                step.id,
            )
