"""The rule `reference-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._facts import Facts, Use
from toolplan.rules._rule import Problem, rule
from toolplan.rules.list_into_scalar import is_list_into_scalar
from toolplan.schema import Schema, Verdict, describe, types_of


@rule()
def reference_type(facts: Facts) -> Iterator[Problem]:
    """A reference fills an argument with what its tool will not take.

    The schema of what is selected and the schema of the argument have no value in common. Types
    that only overlap (a number into an integer, one that may be null into one that may not) are no
    error: the engine checks the value when it is there. Text with references in it always gives
    text, so it is an error where an argument takes none. An argument that must be written out in
    the plan (`x-literal`) takes no reference at all.

        {"tool": "shipments_list", "args": {"limit": "${facilities.data[0].name}"}}

    Way out: refer to a part of the right type.
    """
    told: set[str] = set()
    for use in facts.uses:
        if not isinstance(use.taken, Schema) or use.pointer in told:
            continue
        problem = _problem(use, use.taken)
        if problem is not None:
            told.add(use.pointer)
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
    )
