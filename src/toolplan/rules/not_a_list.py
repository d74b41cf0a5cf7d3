"""The rule `not-a-list`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import Edit, Fix, available
from toolplan.plan import Ref, Value
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.rules.unknown_output import list_fields, only_list, redirect


@rule()
def not_a_list(context: PlanContext) -> Iterator[Problem]:
    """`[*]` or `for_each` is used on something that is never a list.

    `[*]` stands for every element of a list, and `for_each` makes one call for each element.

        "for_each": "${shipments}"     the list is at ${shipments.data}

    Where the output has exactly one list, as that of `sql`, the reference is corrected to it.

    How to fix: name the field that is a list.
    """
    for use in context.doubtful:
        if isinstance(use.given, schemas.Absent) and use.given.not_a_list:
            yield Problem(
                f"`[*]` in {use.text} is not on a list: {use.given.message}.",
                use.pointer,
                use.step.id,
                "Remove the `[*]`, or name the field that is a list.",
                redirect(context, use),
            )
    for position, step in context.elaborate:
        if step.for_each is None:
            continue
        listed = context.type_of_value(step.for_each, None)
        if listed is not None and "array" not in schemas.types_of(listed):
            yield Problem(
                f"`for_each` is {schemas.describe(listed)}, not a list.",
                f"/steps/{position}/for_each",
                step.id,
                available("lists", list_fields(listed)) or "Refer to a list.",
                _at_the_list(step.for_each, listed, f"/steps/{position}/for_each"),
            )


def _at_the_list(value: Value, listed: schemas.Schema, pointer: str) -> Fix | None:
    """Return the fix that takes the only list in what `for_each` refers to."""
    name = only_list(listed)
    if name is None or not isinstance(value, Ref):
        return None
    return Fix(True, (Edit(pointer, dump_value(Ref(value.step, (*value.path, name)))),))
