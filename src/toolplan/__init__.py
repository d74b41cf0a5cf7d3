"""toolplan: a question becomes a typed plan of tool calls, checked before anything runs.

parse         text → Plan, and what is wrong with the text
check         Plan and tools → what is wrong with the plan
compile_plan  text and tools → ExecutionPlan, the one thing that engines take
run           ExecutionPlan and tools → Run
resume        a run that a journal keeps → its end
open          tools, a model, a journal → App: `ask`, `plan`, `check`, `run`, `resume`
open_journal  a place → the journal there, which `run`, `resume` and `open` take
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolplan.shown import use_renderer

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolplan.app._open import open
    from toolplan.app.app import App
    from toolplan.app.home import read_policy
    from toolplan.app.results import AskResult, CheckResult, RunResult
    from toolplan.app.resume import resume
    from toolplan.approval import Approval, ApprovalRequired, ApprovalUsed, approve
    from toolplan.compiler import Compiled, check, compile_plan, compile_stream, parse, to_text
    from toolplan.consent import Denied, Effect, LeaveOut, ValueApproval
    from toolplan.diagnostics import CannotExpress, Diagnostic, Severity
    from toolplan.dry_run import DryRun, simulate
    from toolplan.engines import CannotRun, Decided, RunOptions, StreamRefused, run, run_stream
    from toolplan.errors import ToolplanError
    from toolplan.events import Event, Run
    from toolplan.execution_plan import ExecutionPlan
    from toolplan.extract import extract_tool
    from toolplan.flows import Policy
    from toolplan.plan import Limits, Plan, Step
    from toolplan.plan_json import Parsed
    from toolplan.sources.modules import toolbox_of
    from toolplan.sources.python import tool
    from toolplan.storage.journal import Journal, JournalError, open_journal
    from toolplan.tools import (
        Effects,
        OutcomeUnknown,
        Tool,
        Toolbox,
        ToolError,
        ToolObjectError,
        current_call,
        report_progress,
        state_label,
    )

# Each name is loaded from its home when it is first asked for: who only checks plans does not wait
# for the planner, nor the command line for what its command does not use.
_HOMES: Final = {
    "App": "toolplan.app.app",
    "Approval": "toolplan.approval",
    "ApprovalRequired": "toolplan.approval",
    "ApprovalUsed": "toolplan.approval",
    "AskResult": "toolplan.app.results",
    "CannotExpress": "toolplan.diagnostics",
    "CannotRun": "toolplan.engines",
    "CheckResult": "toolplan.app.results",
    "Compiled": "toolplan.compiler",
    "Decided": "toolplan.engines",
    "Denied": "toolplan.consent",
    "Diagnostic": "toolplan.diagnostics",
    "DryRun": "toolplan.dry_run",
    "Effect": "toolplan.consent",
    "Effects": "toolplan.tools",
    "Event": "toolplan.events",
    "ExecutionPlan": "toolplan.execution_plan",
    "Journal": "toolplan.storage.journal",
    "JournalError": "toolplan.storage.journal",
    "LeaveOut": "toolplan.consent",
    "Limits": "toolplan.plan",
    "OutcomeUnknown": "toolplan.tools",
    "Parsed": "toolplan.plan_json",
    "Plan": "toolplan.plan",
    "Policy": "toolplan.flows",
    "Run": "toolplan.events",
    "RunOptions": "toolplan.engines",
    "RunResult": "toolplan.app.results",
    "Severity": "toolplan.diagnostics",
    "Step": "toolplan.plan",
    "StreamRefused": "toolplan.engines",
    "Tool": "toolplan.tools",
    "ToolError": "toolplan.tools",
    "ToolObjectError": "toolplan.tools",
    "Toolbox": "toolplan.tools",
    "ToolplanError": "toolplan.errors",
    "ValueApproval": "toolplan.consent",
    "approve": "toolplan.approval",
    "check": "toolplan.compiler",
    "compile_plan": "toolplan.compiler",
    "compile_stream": "toolplan.compiler",
    "current_call": "toolplan.tools",
    "extract_tool": "toolplan.extract",
    "open": "toolplan.app._open",
    "open_journal": "toolplan.storage.journal",
    "parse": "toolplan.compiler",
    "read_policy": "toolplan.app.home",
    "report_progress": "toolplan.tools",
    "state_label": "toolplan.tools",
    "resume": "toolplan.app.resume",
    "run": "toolplan.engines",
    "run_stream": "toolplan.engines",
    "simulate": "toolplan.dry_run",
    "to_text": "toolplan.compiler",
    "tool": "toolplan.sources.python",
    "toolbox_of": "toolplan.sources.modules",
}

__all__ = [
    "App",
    "Approval",
    "ApprovalRequired",
    "ApprovalUsed",
    "AskResult",
    "CannotExpress",
    "CannotRun",
    "CheckResult",
    "Compiled",
    "Decided",
    "Denied",
    "Diagnostic",
    "DryRun",
    "Effect",
    "Effects",
    "Event",
    "ExecutionPlan",
    "Journal",
    "JournalError",
    "LeaveOut",
    "Limits",
    "OutcomeUnknown",
    "Parsed",
    "Plan",
    "Policy",
    "Run",
    "RunOptions",
    "RunResult",
    "Severity",
    "Step",
    "StreamRefused",
    "Tool",
    "ToolError",
    "ToolObjectError",
    "Toolbox",
    "ToolplanError",
    "ValueApproval",
    "approve",
    "check",
    "compile_plan",
    "compile_stream",
    "current_call",
    "extract_tool",
    "open",
    "open_journal",
    "parse",
    "read_policy",
    "report_progress",
    "resume",
    "run",
    "run_stream",
    "simulate",
    "state_label",
    "to_text",
    "tool",
    "toolbox_of",
]


def _text_of(value: object) -> str:
    # what renders is loaded by the first print
    render: Callable[[object], str] = import_module("toolplan.render.values").text_of
    return render(value)


use_renderer(_text_of)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
