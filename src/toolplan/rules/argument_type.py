"""The rule `argument-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._literals import literal_problems
from toolplan.rules._rule import Problem, rule


@rule()
def argument_type(context: PlanContext) -> Iterator[Problem]:
    """An argument is written out with a value of the wrong JSON type.

    Arguments that hold references are checked by `reference-type`.

        {"tool": "shipments_list", "args": {"limit": "ten"}}

    A value with exactly one other accepted spelling, such as 10 for "10" or ["a"] for "a", is
    corrected. A null for an optional argument that accepts none is left out, so that the tool's own
    default applies.

    How to fix: write a value of the type that the message names.
    """
    return literal_problems(context, "type")
