"""The LangGraph strategy with a planner, plans as nodes, and plans as graphs.

`build_graph` returns the strategy: tasks for experts, each with its own tools. `toolplan_node` and
`toolplan_tool` plan, check and run inside another graph. `to_langgraph` returns one plan as a
graph. All of them are called with `ainvoke` or `astream`.
"""

from toolplan_langgraph.approval import allowed, approved, denied, left_waiting, refused
from toolplan_langgraph.configuration import Caps, Configuration, ConfigurationError
from toolplan_langgraph.experts import Experts, ExpertUnavailable, connected_experts
from toolplan_langgraph.graph import Strategy, build_graph
from toolplan_langgraph.models import ChatModel, RoleModels
from toolplan_langgraph.node import AskState, Outcome, toolplan_node, toolplan_tool
from toolplan_langgraph.plan_graph import PlanState, to_langgraph
from toolplan_langgraph.state import InputState, PlannerResult, State, Stopped, Task

__all__ = [
    "AskState",
    "Caps",
    "ChatModel",
    "Configuration",
    "ConfigurationError",
    "ExpertUnavailable",
    "Experts",
    "InputState",
    "Outcome",
    "PlanState",
    "PlannerResult",
    "RoleModels",
    "State",
    "Stopped",
    "Strategy",
    "Task",
    "allowed",
    "approved",
    "build_graph",
    "connected_experts",
    "denied",
    "left_waiting",
    "refused",
    "to_langgraph",
    "toolplan_node",
    "toolplan_tool",
]
