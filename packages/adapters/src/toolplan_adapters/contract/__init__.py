"""Planning by contracts: an intent, and what agents require and produce, become tasks.

A contract is a file; `load_contracts` reads them. `ContractPlanner.plan` writes the tasks into a
STATE, `ContractPlanner.propose` returns them as a plan, `state_of` writes the results of a run into
the STATE, and `agent_tool` makes a tool of an agent.
"""

from toolplan_adapters.contract.agents import Briefing, agent_tool, input_schema
from toolplan_adapters.contract.contracts import (
    Contract,
    ContractError,
    Contracts,
    Need,
    Priority,
    Role,
    Skill,
    load_contracts,
    read_text,
)
from toolplan_adapters.contract.intent import IntentReader
from toolplan_adapters.contract.planner import ContractPlanner, KnowledgeMode
from toolplan_adapters.contract.state import (
    ClarificationNeeded,
    Intent,
    StateError,
    UnknownIntentError,
    state_of,
)

__all__ = [
    "Briefing",
    "ClarificationNeeded",
    "Contract",
    "ContractError",
    "ContractPlanner",
    "Contracts",
    "Intent",
    "IntentReader",
    "KnowledgeMode",
    "Need",
    "Priority",
    "Role",
    "Skill",
    "StateError",
    "UnknownIntentError",
    "agent_tool",
    "input_schema",
    "load_contracts",
    "read_text",
    "state_of",
]
