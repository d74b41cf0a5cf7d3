"""The entry point `contract` of the group `toolplan.planners`."""

from __future__ import annotations

from toolplan.planners.context import PlannerContext
from toolplan.planners.contract import ContractPlanner, load_contracts


def contract(context: PlannerContext) -> ContractPlanner | None:
    """Return the planner of the contracts; None where none are given.

    Raises:
        ContractError: a contract cannot be used.
    """
    if not context.contracts:
        return None
    return ContractPlanner(load_contracts(*context.contracts))
