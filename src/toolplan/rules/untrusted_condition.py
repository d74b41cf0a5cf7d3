"""The rule `untrusted-condition`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._flows import asked, origin
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def untrusted_condition(context: PlanContext) -> Iterator[Problem]:
    """Data that nobody vouched for decides whether a call is made that may do harm.

    The arguments of the call may all be trusted: whoever can write the data still chooses whether
    it happens. The condition may stand in this step, or in one that this step refers to.

    How to fix: decide by an output that the policy trusts, or say in `[decide]` of the policy what
    the tool needs.
    """
    for flow in asked(context, "condition"):
        yield Problem(
            f"What decides whether the step is made needs to be {flow.needs};"
            f" {origin(flow.label)}.",
            flow.pointer,
            flow.step,
            "A person is asked before the call.",
        )
