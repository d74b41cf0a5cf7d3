"""An adapter with the names of Clear AI's agents: planner, executor, analyser and orchestrator.

    from toolplan.integrations.clear import Executor, MCPServer, PlannerAgent, register_all_tools

Settings may be spelled as in TypeScript (`maxRetries`) or as in Python (`max_retries`).
"""

from toolplan.integrations.clear.analysis import Analysis, Analyzer, Summarizer
from toolplan.integrations.clear.errors import (
    ClarificationNeeded,
    PlanDependencyError,
    PlannerError,
    PlanValidationError,
    ToolNotFoundError,
)
from toolplan.integrations.clear.executor import Execution, ExecutionError, Executor
from toolplan.integrations.clear.orchestrator import (
    Orchestrator,
    Progress,
    Response,
    ResponseMetadata,
)
from toolplan.integrations.clear.plan import Plan, PlanMetadata, PlanStep
from toolplan.integrations.clear.planner import PlannerAgent
from toolplan.integrations.clear.settings import (
    AnalyzerConfig,
    ExecutorConfig,
    OrchestratorConfig,
    PlannerConfig,
    SettingError,
    SummarizerConfig,
    ToolInfo,
)
from toolplan.integrations.clear.tools import (
    BaseTool,
    MCPServer,
    ResultMetadata,
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
    "ExecutionError",
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
