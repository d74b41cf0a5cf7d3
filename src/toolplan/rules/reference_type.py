"""The rule `reference-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import Edit, Fix
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule
from toolplan.rules.lists import is_list_into_scalar


@rule()
def reference_type(context: PlanContext) -> Iterator[Problem]:
    """A reference fills an argument with something that its tool does not accept.

    The schema of the selected value and the schema of the argument have no value in common. Types
    that only overlap (a number into an integer, a nullable value into one that may not be null) are
    no error: the engine checks the value during the run. Text with references in it is always text,
    so it is an error where an argument accepts none. An argument that must be written out in the
    plan (`x-literal`) accepts no reference, nor does a part of it. A single value where a list of
    such values is accepted becomes a list of one.

        {"tool": "shipments_list", "args": {"limit": "${facilities.data[0].name}"}}

    How to fix: refer to a part of the right type.
    """
    reported: set[str] = set()
    for use in context.doubtful:
        problem = _problem(use, use.taken) if isinstance(use.taken, schemas.Schema) else None
        if problem is not None and problem.pointer not in reported:
            reported.add(problem.pointer)
            yield problem


def _problem(use: Use, taken: schemas.Schema) -> Problem | None:
    if isinstance(taken.node, dict) and taken.node.get("x-literal") is True:
        return Problem(
            f"{use.text} is in an argument that must be written out.",
            use.pointer,
            use.step.id,
            "Write the text itself, so that a reader of the plan sees what will run.",
        )
    if not use.whole:
        if "string" in schemas.types_of(taken):
            return None
        return Problem(
            f"Text with a reference is text, but the argument accepts {schemas.accepted(taken)}.",
            use.pointer,
            use.step.id,
            f"Make {use.text} the whole value, so that it keeps its type.",
        )
    if not isinstance(use.given, schemas.Schema) or use.verdict is not schemas.Verdict.NO:
        return None
    if is_list_into_scalar(use):
        return None
    return Problem(
        f"{use.text} is {schemas.describe(use.given)}, but the argument accepts"
        f" {schemas.accepted(taken)}.",
        use.pointer,
        use.step.id,
        "Refer to a part of the right type.",
        _as_list_of_one(use, taken),
    )


def _as_list_of_one(use: Use, taken: schemas.Schema) -> Fix | None:
    """Return the fix that makes a list of one value, where the value fits as an element."""
    element = schemas.elements(taken)
    if schemas.types_of(taken) - {"array", "null"} or not isinstance(element, schemas.Schema):
        return None
    if (
        not isinstance(use.given, schemas.Schema)
        or schemas.assignable(use.given, element) is not schemas.Verdict.YES
    ):
        return None
    return Fix(True, (Edit(use.pointer, [dump_value(use.ref)]),))
