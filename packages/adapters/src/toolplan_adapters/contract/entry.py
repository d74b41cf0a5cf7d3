"""The entry points `contract` of the groups `toolplan.planners` and `toolplan.states`."""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.path import Json
from toolplan.planners import Clarification
from toolplan.planners.context import PlannerContext
from toolplan_adapters.contract import (
    ClarificationNeeded,
    ContractPlanner,
    UnknownIntentError,
    load_contracts,
)


def contract(context: PlannerContext) -> ContractPlanner | None:
    """Return the planner of the contracts; None where none are given.

    Raises:
        ContractError: a contract cannot be used.
    """
    if not context.contracts:
        return None
    return ContractPlanner(load_contracts(*context.contracts))


def plan_state(state: dict[str, Json], contracts: Sequence[str]) -> dict[str, Json] | Clarification:
    """Return the STATE with its plan by the contracts in these files or folders, or ask.

    Raises:
        ContractError: a contract cannot be used.
    """
    planner = ContractPlanner(load_contracts(*contracts))
    try:
        return planner.plan(state)
    except (ClarificationNeeded, UnknownIntentError) as unclear:
        return Clarification(str(unclear), (*planner.reader.classes,))
