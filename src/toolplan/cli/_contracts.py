"""The rung of the ladder that plans by contracts."""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.cli._terminal import CommandError
from toolplan.planners import Planner
from toolplan.planners.contract import ContractError, ContractPlanner, load_contracts


def contract_planner(places: Sequence[str]) -> Planner:
    """Return the planner of the contracts in the files and folders of `places`.

    Raises:
        CommandError: one of them cannot be used.
    """
    try:
        return ContractPlanner(load_contracts(*places))
    except ContractError as error:
        raise CommandError(
            "bad-contracts", str(error), "docs/contracts.md tells what a contract says."
        ) from None
