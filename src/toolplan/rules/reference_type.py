"""The rule `reference-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Edit, Fix
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule
from toolplan.rules.list_into_scalar import is_list_into_scalar
from toolplan.schema import Schema, Verdict, assignable, describe, elements, types_of


@rule()
def reference_type(context: PlanContext) -> Iterator[Problem]:
    """A reference fills an argument with what its tool will not take.

    The schema of what is selected and the schema of the argument have no value in common. Types
    that only overlap (a number into an integer, one that may be null into one that may not) are no
    error: the engine checks the value when it is there. Text with references in it always gives
    text, so it is an error where an argument takes none. An argument that must be written out in
    the plan (`x-literal`) takes no reference at all. One value where a list of such values is taken
    is made a list of one.

        {"tool": "shipments_list", "args": {"limit": "${facilities.data[0].name}"}}

    Way out: refer to a part of the right type.
    """
    told: set[str] = set()
    for use in context.doubtful:
        problem = _problem(use, use.taken) if isinstance(use.taken, Schema) else None
        if problem is not None and problem.pointer not in told:
            told.add(problem.pointer)
            yield problem


def _problem(use: Use, taken: Schema) -> Problem | None:
    if isinstance(taken.node, dict) and taken.node.get("x-literal") is True:
        return Problem(
            f"{use.text} stands in an argument that must be written out.",
            use.pointer,
            use.step.id,
            "What is run must be seen when the plan is read: write the text itself.",
        )
    if not use.whole:
        if "string" in types_of(taken):
            return None
        return Problem(
            f"Text with a reference gives text, but {describe(taken)} is wanted.",
            use.pointer,
            use.step.id,
            f"Let {use.text} be the whole value, so that it keeps its type.",
        )
    if not isinstance(use.given, Schema) or use.verdict is not Verdict.NO:
        return None
    if is_list_into_scalar(use):
        return None
    return Problem(
        f"{use.text} is {describe(use.given)}, but {describe(taken)} is wanted.",
        use.pointer,
        use.step.id,
        "Refer to a part that has the right type.",
        _as_list_of_one(use, taken),
    )


def _as_list_of_one(use: Use, taken: Schema) -> Fix | None:
    """Return the fix that makes a list of one value, where each element surely may be such a value.

    The plan's writer had one thing in mind, and the tool takes several.
    """
    element = elements(taken)
    if types_of(taken) - {"array", "null"} or not isinstance(element, Schema):
        return None
    if not isinstance(use.given, Schema) or assignable(use.given, element) is not Verdict.YES:
        return None
    return Fix(True, (Edit(use.pointer, [dump_value(use.ref)]),))
