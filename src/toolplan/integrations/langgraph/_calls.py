"""The tool calls of one message: a plan of steps, checked, approved and run as any other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import ToolCall, ToolMessage

from toolplan.compiler import Compiled, compile_plan
from toolplan.diagnostics import Diagnostic
from toolplan.events import Run, StepRun, StepState
from toolplan.integrations.langgraph._transcript import cut
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.tools import Toolbox

_MOST_OF_AN_ERROR: Final = 2_000


def step_id(position: int) -> str:
    """Return the id of the step that a message's call at `position`, from 0, becomes.

    >>> step_id(0)
    'c1'
    """
    return f"c{position + 1}"


def compiled_calls(calls: Sequence[ToolCall], tools: Toolbox, limits: Limits) -> Compiled:
    """Return the plan that `calls` are, checked against `tools`, and against nothing else."""
    steps: list[Json] = [
        {"id": step_id(at), "tool": call["name"], "args": call["args"]}
        for at, call in enumerate(calls)
    ]
    document: Json = {"toolplan": 1, "steps": steps}
    return compile_plan(json.dumps(document), tools=tools, limits=limits)


def not_called(calls: Sequence[ToolCall], compiled: Compiled) -> list[ToolMessage]:
    """Answer each of `calls` with why none was made: its own faults, or those of its neighbours."""
    blocking = [each for each in compiled.diagnostics if each.blocks and not each.fixed]
    own: dict[str | None, list[Diagnostic]] = {}
    for each in blocking:
        own.setdefault(each.step, []).append(each)
    neighbours = "Not called: another call of the same message is wrong."
    return [
        failed(
            call, " ".join(map(_sentence, own.get(step_id(at), own.get(None, [])))) or neighbours
        )
        for at, call in enumerate(calls)
    ]


def failed(call: ToolCall, why: str) -> ToolMessage:
    """Answer `call` with an error."""
    return ToolMessage(
        f"Error: {why}", tool_call_id=call["id"] or "", name=call["name"], status="error"
    )


def answered(calls: Sequence[ToolCall], ended: Run) -> list[ToolMessage]:
    """Answer each of `calls` with what came of it."""
    return [_answer(call, ended.steps[step_id(at)], ended) for at, call in enumerate(calls)]


def _answer(call: ToolCall, step: StepRun, ended: Run) -> ToolMessage:
    if step.state is StepState.SUCCEEDED and step.error is None:
        output = step.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"])
    if step.state is StepState.IN_DOUBT:
        return failed(
            call,
            "Nobody knows whether the call did its work. Do not make it again: a person decides"
            f" (run {ended.run}).",
        )
    if step.error is None:
        return failed(call, "The call was cancelled.")
    beginning = "Not called: " if step.state is StepState.SKIPPED else ""
    return failed(call, f"{beginning}{cut(step.error.message, _MOST_OF_AN_ERROR)}")


def _sentence(diagnostic: Diagnostic) -> str:
    place = f" ({diagnostic.pointer})" if diagnostic.pointer else ""
    help_ = f" {diagnostic.help}" if diagnostic.help else ""
    return f"{diagnostic.message}{place}{help_}"
