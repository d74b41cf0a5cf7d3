"""The network demo's contracts and tools."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from toolplan.path import Json
from toolplan.tools import Tool, Toolbox
from toolplan_adapters.contract import Contracts, agent_tool, load_contracts
from toolplan_adapters.contract.agents import Work
from toolplan_adapters.network.assessing import config_best_practice, security_assessment
from toolplan_adapters.network.knowledge import knowledge
from toolplan_adapters.network.querying import ASSET_KINDS, QueryAgent
from toolplan_adapters.network.sources import SOURCES

NETWORK_CONTRACTS: Final = load_contracts(files("toolplan_adapters.network").joinpath("contracts"))
"""The contracts of the four agents, from the files beside this module."""

_ROWS: Final[Json] = {"type": "array", "items": {"type": "object"}}
_KNOWLEDGE_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "enterprise_context": {
            "type": "object",
            "properties": {
                "retrieved_chunks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string"},
                            "metadata": {"type": "object"},
                        },
                        "required": ["content", "metadata"],
                    },
                },
                "query_used": {"type": "string"},
            },
            "required": ["retrieved_chunks", "query_used"],
        },
        "retrieval_query": {"type": "string"},
    },
    "required": ["enterprise_context", "retrieval_query"],
}
_DATA_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "assessment_context": {
            "type": "object",
            "properties": {
                "context_id": {"type": "string"},
                "source_path": {"enum": ["mcp", "sql", "error"]},
                "timestamp_utc": {"type": "string", "format": "date-time"},
                "scope": {"type": "object"},
                "assets": {
                    "type": "object",
                    "properties": dict.fromkeys(ASSET_KINDS, _ROWS),
                    "required": [*ASSET_KINDS],
                },
                "slic_findings": _ROWS,
                "exceptions": _ROWS,
                "tracked_issues": _ROWS,
                "detailed_findings": {"type": "object"},
                "asset_trend": _ROWS,
                "provenance": _ROWS,
                "errors": _ROWS,
            },
            "required": ["context_id", "source_path", "assets", "provenance", "errors"],
        }
    },
    "required": ["assessment_context"],
}
_DOMAIN_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "findings": _ROWS,
        "summary": {"type": "object"},
        "prioritized_risks": _ROWS,
        "asset_trend": _ROWS,
        "chart_hints": _ROWS,
        "data_gaps": _ROWS,
        "assumptions": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["findings", "summary", "prioritized_risks", "asset_trend", "chart_hints"],
}


def network_tools(contracts: Contracts = NETWORK_CONTRACTS) -> Toolbox:
    """Return the four agents as tools, whose schemas are those of `contracts`, and their sources.

    Agents of the demo that `contracts` leave out are left out here.
    """
    work: dict[str, tuple[Work, str, Json]] = {
        "knowledge_agent": (
            knowledge,
            "Retrieves what the enterprise has written down about what is asked.",
            _KNOWLEDGE_OUTPUT,
        ),
        "data_query_agent": (
            QueryAgent(Toolbox(SOURCES)).work,
            "Fetches configurations, inventory, events and earlier assessments of a scope.",
            _DATA_OUTPUT,
        ),
        "config_best_practice_agent": (
            config_best_practice,
            "Holds configurations against best practices.",
            _DOMAIN_OUTPUT,
        ),
        "security_assessment_agent": (
            security_assessment,
            "Looks for weaknesses in configurations, software and events.",
            _DOMAIN_OUTPUT,
        ),
    }
    agents: list[Tool] = []
    for contract in contracts:
        if contract.tool in work:
            does, description, output = work[contract.tool]
            agents.append(
                agent_tool(contract, does, contracts, description=description, output=output)
            )
    return Toolbox([*agents, *SOURCES])


NETWORK_TOOLS: Final = network_tools()
"""The toolbox for `--tools toolplan_adapters.network:NETWORK_TOOLS`."""
