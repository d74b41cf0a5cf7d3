"""The rule `untrusted-count`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.rules._context import PlanContext
from toolplan.rules._flows import asked, origin
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def untrusted_count(context: PlanContext) -> Iterator[Problem]:
    """Data that nobody vouched for decides how often a call is made that may do harm.

    Each item of `for_each` is a call, so that whoever can write the list chooses how many there
    are, and for which of the items.

    How to fix: take the list from an output that the policy trusts, or say in `[decide]` of the
    policy what the tool needs.
    """
    for flow in asked(context, "count"):
        yield Problem(
            f"What decides how often the step is made needs to be {flow.needs};"
            f" {origin(flow.label)}.",
            flow.pointer,
            flow.step,
            "A person is asked before the calls.",
        )
