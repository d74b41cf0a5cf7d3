"""The rule `missing-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.plan import Step
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema


@rule()
def missing_argument(context: PlanContext) -> Iterator[Problem]:
    """A step leaves out an argument that its tool requires.

    The tool would refuse the call, after other steps have already run.

    How to fix: give the argument a value, or a reference to a step that has one.
    """
    for position, step, found in context.violations:
        if found.kind == "missing":
            pointer = f"/steps/{position}/args{found.pointer}"
            yield Problem(
                f"{step.tool!r} requires {found.name!r}, which is missing.",
                pointer,
                step.id,
                _help(context, step, found.name or "", found.pointer),
            )


def _help(context: PlanContext, step: Step, name: str, inside: str) -> str:
    tool = context.tool(step)
    part = None if tool is None or inside else schemas.at(tool.input, (name,))
    wanted = schemas.accepted(part) if isinstance(part, Schema) else "a value"
    return f"Give {name!r}: {wanted}."
