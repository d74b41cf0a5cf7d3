"""The rule `policy-tool`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._flows import faults
from toolplan.rules._rule import Problem, rule


@rule()
def policy_tool(context: PlanContext) -> Iterator[Problem]:
    """The policy names a tool that is not there.

    A rule about a tool that does not exist protects nothing, so no plan runs under it.

    How to fix: correct the name in the policy, or open the tools that it is made for.
    """
    yield from faults(context, "policy-tool")
