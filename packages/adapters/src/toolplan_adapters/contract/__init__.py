"""Planning by contracts: an intent, and what agents require and produce, become tasks.

A contract is a file; `load_contracts` reads them. `ContractPlanner.plan` writes the tasks into a
STATE, `ContractPlanner.propose` returns them as a plan, `state_of` writes the results of a run into
the STATE, and `agent_tool` makes a tool of an agent.
"""

from toolplan_adapters.contract.agents import Briefing as Briefing
from toolplan_adapters.contract.agents import agent_tool as agent_tool
from toolplan_adapters.contract.agents import input_schema as input_schema
from toolplan_adapters.contract.contracts import Contract as Contract
from toolplan_adapters.contract.contracts import ContractError as ContractError
from toolplan_adapters.contract.contracts import Contracts as Contracts
from toolplan_adapters.contract.contracts import Need as Need
from toolplan_adapters.contract.contracts import Priority as Priority
from toolplan_adapters.contract.contracts import Role as Role
from toolplan_adapters.contract.contracts import Skill as Skill
from toolplan_adapters.contract.contracts import load_contracts as load_contracts
from toolplan_adapters.contract.contracts import read_text as read_text
from toolplan_adapters.contract.intent import IntentReader as IntentReader
from toolplan_adapters.contract.planner import ContractPlanner as ContractPlanner
from toolplan_adapters.contract.planner import KnowledgeMode as KnowledgeMode
from toolplan_adapters.contract.state import ClarificationNeeded as ClarificationNeeded
from toolplan_adapters.contract.state import Intent as Intent
from toolplan_adapters.contract.state import StateError as StateError
from toolplan_adapters.contract.state import UnknownIntentError as UnknownIntentError
from toolplan_adapters.contract.state import state_of as state_of
