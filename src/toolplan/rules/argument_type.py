"""The rule `argument-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._arguments import place_name, respelling, wanted_at
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def argument_type(context: PlanContext) -> Iterator[Problem]:
    """An argument is written out with a value of the wrong JSON type.

    What is filled in later by references is checked by `reference-type`.

        {"tool": "shipments_list", "args": {"limit": "ten"}}

    Where exactly one other spelling of what is written is taken, such as 10 for "10" or ["a"] for
    "a", it is put in its place.

    Way out: write a value of the type that the message names.
    """
    for position, step, found in context.violations:
        tool = context.tool(step)
        if found.kind == "type" and tool is not None:
            pointer = f"/steps/{position}/args{found.pointer}"
            yield Problem(
                f"{place_name(found.pointer)}: {found.message}",
                pointer,
                step.id,
                wanted_at(tool.input, step, found.pointer),
                respelling(tool.input, step, found.pointer, pointer),
            )
