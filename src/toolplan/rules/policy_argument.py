"""The rule `policy-argument`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._flows import faults
from toolplan.rules._rule import Problem, rule


@rule()
def policy_argument(context: PlanContext) -> Iterator[Problem]:
    """The policy says what an argument needs that the tool does not have.

    A misspelt name would leave the real argument without its rule, so no plan runs under it.

    How to fix: correct the name in the policy; `toolplan tools NAME` shows the arguments.
    """
    yield from faults(context, "policy-argument")
