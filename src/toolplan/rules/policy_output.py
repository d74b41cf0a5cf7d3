"""The rule `policy-output`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._flows import faults
from toolplan.rules._rule import Problem, rule


@rule()
def policy_output(context: PlanContext) -> Iterator[Problem]:
    """The policy names an output that no tool has, or says two things of one.

    The path is followed through the output schema of the tool. For a tool without one any path is
    taken. What a tool such as `sql` gives follows from what it is given, and cannot be trusted by
    name.

    How to fix: correct the path in the policy; `toolplan tools NAME` shows the schema.
    """
    yield from faults(context, "policy-output")
