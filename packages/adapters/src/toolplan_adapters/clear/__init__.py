"""An adapter with the names of Clear AI's agents: planner, executor and orchestrator.

    from toolplan_adapters.clear import Executor, MCPServer, PlannerAgent, register_all_tools

Settings may be spelled as in TypeScript (`maxRetries`) or as in Python (`max_retries`).
"""

from toolplan_adapters.clear.errors import (
    ClarificationNeeded,
    PlanDependencyError,
    PlannerError,
    PlanValidationError,
    ToolNotFoundError,
)
from toolplan_adapters.clear.executor import Execution, Executor
from toolplan_adapters.clear.orchestrator import Orchestrator, Progress, Response, ResponseMetadata
from toolplan_adapters.clear.plan import Plan, PlanMetadata, PlanStep
from toolplan_adapters.clear.planner import PlannerAgent
from toolplan_adapters.clear.settings import (
    ExecutorConfig,
    OrchestratorConfig,
    PlannerConfig,
    SettingError,
)
from toolplan_adapters.clear.tools import (
    BaseTool,
    MCPServer,
    ResultMetadata,
    ToolInfo,
    ToolProblem,
    ToolResult,
    register_all_tools,
)

__all__ = [
    "BaseTool",
    "ClarificationNeeded",
    "Execution",
    "Executor",
    "ExecutorConfig",
    "MCPServer",
    "Orchestrator",
    "OrchestratorConfig",
    "Plan",
    "PlanDependencyError",
    "PlanMetadata",
    "PlanStep",
    "PlanValidationError",
    "PlannerAgent",
    "PlannerConfig",
    "PlannerError",
    "Progress",
    "Response",
    "ResponseMetadata",
    "ResultMetadata",
    "SettingError",
    "ToolInfo",
    "ToolNotFoundError",
    "ToolProblem",
    "ToolResult",
    "register_all_tools",
]
