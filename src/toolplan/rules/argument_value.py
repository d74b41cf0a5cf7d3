"""The rule `argument-value`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._arguments import place_name, respelling, wanted_at
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def argument_value(context: PlanContext) -> Iterator[Problem]:
    """An argument has the right type, but a value that its tool does not take.

    That is a value outside of an enum or a bound, against a pattern or a format (a date is written
    YYYY-MM-DD), or one of which the tool itself says that it cannot be: the tool `sql` binds its
    statement against the tables' columns before anything runs.

        {"tool": "shipments_list", "args": {"date_from": "last week"}}

    A value of an enum in other letter case, or a date in another spelling that can only mean one
    day, is put in its place.

    Way out: write a value that the message names.
    """
    for position, step, found in context.violations:
        tool = context.tool(step)
        if found.kind == "value" and tool is not None:
            pointer = f"/steps/{position}/args{found.pointer}"
            yield Problem(
                f"{place_name(found.pointer)}: {found.message}",
                pointer,
                step.id,
                wanted_at(tool.input, step, found.pointer),
                respelling(tool.input, step, found.pointer, pointer),
            )
