"""The rule `not-a-list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan import schema as schemas
from toolplan.diagnostics import available
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.schema import JsonType

_ONLY_A_LIST: Final = frozenset[JsonType](("array",))


@rule()
def not_a_list(context: PlanContext) -> Iterator[Problem]:
    """`[*]` or `for_each` is used on something that is never a list.

    `[*]` stands for every element of a list, and `for_each` makes one call for each element.

        "for_each": "${shipments}"     the list is at ${shipments.data}

    How to fix: name the field that is a list.
    """
    for use in context.doubtful:
        if isinstance(use.given, schemas.Absent) and use.given.not_a_list:
            yield Problem(
                f"`[*]` in {use.text} is not on a list: {use.given.message}.",
                use.pointer,
                use.step.id,
                "Remove the `[*]`, or name the field that is a list.",
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
                _lists(listed),
            )


def _lists(schema: schemas.Schema) -> str:
    fields = schema.node.get("properties") if isinstance(schema.node, dict) else None
    lists = [
        name
        for name in (fields if isinstance(fields, dict) else ())
        if isinstance(part := schemas.at(schema, (name,)), schemas.Schema)
        and schemas.types_of(part) == _ONLY_A_LIST
    ]
    return available("lists", lists) or "Refer to a list."
