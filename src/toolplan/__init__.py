"""toolplan: a question becomes a typed plan of tool calls, checked before anything runs.

parse         text → Plan, and what is wrong with the text
check         Plan and tools → what is wrong with the plan
compile_plan  text and tools → ExecutionPlan, the one thing that engines take
run           ExecutionPlan and tools → Run
Session       a question → all of it
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolplan.approval import Approval, ApprovalRequired, Policy, approve
    from toolplan.compiler import Compiled, check, compile_plan, parse, to_text
    from toolplan.diagnostics import CannotExpress, Diagnostic, Severity
    from toolplan.engines import CannotRun, run
    from toolplan.events import Event, Run
    from toolplan.execution_plan import ExecutionPlan
    from toolplan.plan import Limits, Plan, Step
    from toolplan.plan_json import Parsed
    from toolplan.session import Asked, Session
    from toolplan.sources.python import tool
    from toolplan.tools import Effects, Tool, Toolbox, ToolError, ToolObjectError

# Each name is loaded from its home when it is first asked for: who only checks plans does not wait
# for the planner, nor the command line for what its command does not use (docs/decisions/0006).
_HOMES: Final = {
    "Approval": "toolplan.approval",
    "ApprovalRequired": "toolplan.approval",
    "Asked": "toolplan.session",
    "CannotExpress": "toolplan.diagnostics",
    "CannotRun": "toolplan.engines",
    "Compiled": "toolplan.compiler",
    "Diagnostic": "toolplan.diagnostics",
    "Effects": "toolplan.tools",
    "Event": "toolplan.events",
    "ExecutionPlan": "toolplan.execution_plan",
    "Limits": "toolplan.plan",
    "Parsed": "toolplan.plan_json",
    "Plan": "toolplan.plan",
    "Policy": "toolplan.approval",
    "Run": "toolplan.events",
    "Session": "toolplan.session",
    "Severity": "toolplan.diagnostics",
    "Step": "toolplan.plan",
    "Tool": "toolplan.tools",
    "ToolError": "toolplan.tools",
    "ToolObjectError": "toolplan.tools",
    "Toolbox": "toolplan.tools",
    "approve": "toolplan.approval",
    "check": "toolplan.compiler",
    "compile_plan": "toolplan.compiler",
    "parse": "toolplan.compiler",
    "run": "toolplan.engines",
    "to_text": "toolplan.compiler",
    "tool": "toolplan.sources.python",
}

__all__ = [
    "Approval",
    "ApprovalRequired",
    "Asked",
    "CannotExpress",
    "CannotRun",
    "Compiled",
    "Diagnostic",
    "Effects",
    "Event",
    "ExecutionPlan",
    "Limits",
    "Parsed",
    "Plan",
    "Policy",
    "Run",
    "Session",
    "Severity",
    "Step",
    "Tool",
    "ToolError",
    "ToolObjectError",
    "Toolbox",
    "approve",
    "check",
    "compile_plan",
    "parse",
    "run",
    "to_text",
    "tool",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
