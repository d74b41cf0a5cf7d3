"""Planning by contracts: an intent, and what agents require and produce, become tasks.

A contract is a file; `load_contracts` reads them. `ContractPlanner.plan` writes the tasks into a
STATE, `ContractPlanner.propose` returns them as a plan, `state_of` writes the results of a run into
the STATE, and `agent_tool` makes a tool of an agent.
"""

from toolplan.planners.contract.agents import Briefing, agent_tool, input_schema
from toolplan.planners.contract.contracts import (
    Contract,
    ContractError,
    Contracts,
    Need,
    Priority,
    Role,
    Skill,
)
from toolplan.planners.contract.files import load_contracts, read_text
from toolplan.planners.contract.intent import IntentReader
from toolplan.planners.contract.planner import ContractPlanner, KnowledgeMode
from toolplan.planners.contract.state import (
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
