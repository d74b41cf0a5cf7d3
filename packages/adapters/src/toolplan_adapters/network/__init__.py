"""The network demo: four agents with contracts, over a small network with its faults.

*Assess HQ against best practices* runs, and finds something. `NETWORK_CONTRACTS` are the agents'
contracts, `NETWORK_TOOLS` does their work; both are used as the documentation of `ContractPlanner`
says (`docs/contracts.md`).
"""

from toolplan_adapters.network.estate import estate
from toolplan_adapters.network.sources import SOURCES
from toolplan_adapters.network.tools import NETWORK_CONTRACTS, NETWORK_TOOLS, network_tools

__all__ = ["NETWORK_CONTRACTS", "NETWORK_TOOLS", "SOURCES", "estate", "network_tools"]
