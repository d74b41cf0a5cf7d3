"""The network demo: four agents with contracts, over a small network with its faults.

`NETWORK_CONTRACTS` are the agents' contracts, `NETWORK_TOOLS` does their work; `docs/contracts.md`
uses both.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox
from toolplan_adapters.contract import Contracts, agent_tool, load_contracts
from toolplan_adapters.contract.agents import Work
from toolplan_adapters.network.agents import (
    config_best_practice,
    data_query,
    knowledge,
    security_assessment,
)
from toolplan_adapters.network.sources import SOURCES

__all__ = ["NETWORK_CONTRACTS", "NETWORK_TOOLS", "SOURCES", "network_tools"]

_FOLDER: Final = files("toolplan_adapters.network")
NETWORK_CONTRACTS: Final = load_contracts(_FOLDER.joinpath("contracts"))
"""The contracts of the four agents."""

_OUTPUTS: Final[dict[str, Json]] = json.loads(_FOLDER.joinpath("outputs.json").read_text("utf-8"))
"""The output schema of each role."""
_WORK: Final[dict[str, tuple[Work, str]]] = {
    "knowledge_agent": (knowledge, "Retrieves policies and notes of the enterprise."),
    "data_query_agent": (
        data_query,
        "Fetches configurations, inventory, events and earlier assessments of a scope.",
    ),
    "config_best_practice_agent": (
        config_best_practice,
        "Checks configurations against best practices.",
    ),
    "security_assessment_agent": (
        security_assessment,
        "Looks for weaknesses in configurations, software and events.",
    ),
}


def network_tools(contracts: Contracts = NETWORK_CONTRACTS) -> Toolbox:
    """Return the agents of `contracts` as tools, with the schemas of these, and the sources."""
    agents = [
        agent_tool(each, work, contracts, description=description, output=_OUTPUTS[each.role])
        for each in contracts
        if each.tool in _WORK
        for work, description in [_WORK[each.tool]]
    ]
    return Toolbox([*agents, *SOURCES])


NETWORK_TOOLS: Final = network_tools()
"""The toolbox for `--tools toolplan_adapters.network:NETWORK_TOOLS`."""
