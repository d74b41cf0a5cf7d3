"""An adapter with the names of Clear AI's agents: planner, executor, analyser and orchestrator.

    from toolplan_adapters.clear import Executor, MCPServer, PlannerAgent, register_all_tools

Settings may be spelled as in TypeScript (`maxRetries`) or as in Python (`max_retries`).
"""

from toolplan_adapters.clear.analysis import Analysis, Analyzer, Summarizer
from toolplan_adapters.clear.errors import (
    ClarificationNeeded,
    PlanDependencyError,
    PlannerError,
    PlanValidationError,
    ToolNotFoundError,
)
from toolplan_adapters.clear.executor import Execution, Executor
from toolplan_adapters.clear.orchestrator import (
    Orchestrator,
    Progress,
    Response,
    ResponseMetadata,
)
from toolplan_adapters.clear.plan import Plan, PlanMetadata, PlanStep
from toolplan_adapters.clear.planner import PlannerAgent
from toolplan_adapters.clear.settings import (
    AnalyzerConfig,
    ExecutorConfig,
    OrchestratorConfig,
    PlannerConfig,
    SettingError,
    SummarizerConfig,
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
    "Analysis",
    "Analyzer",
    "AnalyzerConfig",
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
    "Summarizer",
    "SummarizerConfig",
    "ToolInfo",
    "ToolNotFoundError",
    "ToolProblem",
    "ToolResult",
    "register_all_tools",
]
