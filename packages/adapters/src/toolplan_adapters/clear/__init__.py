"""An adapter with the names of Clear AI's agents: planner, executor and orchestrator.

    from toolplan_adapters.clear import Executor, MCPServer, PlannerAgent, register_all_tools

Settings may be spelled as in TypeScript (`maxRetries`) or as in Python (`max_retries`).
"""

from toolplan_adapters.clear.errors import ClarificationNeeded as ClarificationNeeded
from toolplan_adapters.clear.errors import PlanDependencyError as PlanDependencyError
from toolplan_adapters.clear.errors import PlannerError as PlannerError
from toolplan_adapters.clear.errors import PlanValidationError as PlanValidationError
from toolplan_adapters.clear.errors import ToolNotFoundError as ToolNotFoundError
from toolplan_adapters.clear.executor import Execution as Execution
from toolplan_adapters.clear.executor import Executor as Executor
from toolplan_adapters.clear.orchestrator import Orchestrator as Orchestrator
from toolplan_adapters.clear.orchestrator import Progress as Progress
from toolplan_adapters.clear.orchestrator import Response as Response
from toolplan_adapters.clear.orchestrator import ResponseMetadata as ResponseMetadata
from toolplan_adapters.clear.plan import Plan as Plan
from toolplan_adapters.clear.plan import PlanMetadata as PlanMetadata
from toolplan_adapters.clear.plan import PlanStep as PlanStep
from toolplan_adapters.clear.planner import PlannerAgent as PlannerAgent
from toolplan_adapters.clear.settings import ExecutorConfig as ExecutorConfig
from toolplan_adapters.clear.settings import OrchestratorConfig as OrchestratorConfig
from toolplan_adapters.clear.settings import PlannerConfig as PlannerConfig
from toolplan_adapters.clear.settings import SettingError as SettingError
from toolplan_adapters.clear.tools import BaseTool as BaseTool
from toolplan_adapters.clear.tools import MCPServer as MCPServer
from toolplan_adapters.clear.tools import ResultMetadata as ResultMetadata
from toolplan_adapters.clear.tools import ToolInfo as ToolInfo
from toolplan_adapters.clear.tools import ToolProblem as ToolProblem
from toolplan_adapters.clear.tools import ToolResult as ToolResult
from toolplan_adapters.clear.tools import register_all_tools as register_all_tools
