"""Messages: their tool calls as a plan like any other, and the conversation for models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage

from toolplan.compiler import Compiled, compile_plan
from toolplan.events import Run, StepRun, StepState
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits
from toolplan.plan.path import Json
from toolplan.providers import Message
from toolplan.schema.tool import Toolbox

_MOST_OF_AN_ERROR: Final = 2_000
_CLOSING: Final = "</tool_result"


def compiled_calls(calls: Sequence[ToolCall], tools: Toolbox, limits: Limits) -> Compiled:
    """Return the plan of `calls`, checked against `tools`; its steps are `c1`, `c2` and so on."""
    steps: list[Json] = [
        {"id": f"c{at}", "tool": call["name"], "args": call["args"]}
        for at, call in enumerate(calls, 1)
    ]
    document: Json = {"toolplan": 1, "steps": steps}
    return compile_plan(json.dumps(document), tools=tools, limits=limits)


def not_called(calls: Sequence[ToolCall], compiled: Compiled) -> list[ToolMessage]:
    """Return an error for each call of a plan that failed its check."""
    found: dict[str | None, list[Diagnostic]] = {}
    for each in compiled.diagnostics:
        if each.blocks and not each.fixed:
            found.setdefault(each.step, []).append(each)
    other = "Not called: another call of the same message is wrong."
    return [
        failed(call, " ".join(map(_sentence, found.get(f"c{at}", found.get(None, [])))) or other)
        for at, call in enumerate(calls, 1)
    ]


def failed(call: ToolCall, why: str) -> ToolMessage:
    """Return an error as the result of `call`."""
    return ToolMessage(
        f"Error: {why}", tool_call_id=call["id"] or "", name=call["name"], status="error"
    )


def results(calls: Sequence[ToolCall], ended: Run) -> list[ToolMessage]:
    """Return the result of each call."""
    return [_result(call, ended.steps[f"c{at}"], ended) for at, call in enumerate(calls, 1)]


def _result(call: ToolCall, step: StepRun, ended: Run) -> ToolMessage:
    if step.state is StepState.SUCCEEDED and step.error is None:
        output = step.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"])
    if step.state is StepState.IN_DOUBT:
        return failed(
            call,
            "It is unknown whether the call had its effect. Do not repeat it: a person decides"
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


def transcript(messages: Sequence[BaseMessage], result_chars: int) -> list[Message]:
    """Return `messages` for a model, with at most `result_chars` characters of each tool result.

    Tool results are marked text in user messages: so they work with every provider, and cannot be
    mistaken for the words of the user.
    """
    return [_message(message, result_chars) for message in messages]


def cut(text: str, most: int) -> str:
    """Return `text`, or its beginning with a note on how much is missing."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: {most} of {len(text)} characters]"


def _message(message: BaseMessage, result_chars: int) -> Message:
    text = str(message.text)
    match message:
        case ToolMessage(tool_call_id=call):
            body = cut(text, result_chars).replace(_CLOSING, "<\\/tool_result")
            return Message("user", f'<tool_result call="{call}">\n{body}\n</tool_result>')
        case AIMessage(tool_calls=calls):
            made = [{"call": c["id"], "name": c["name"], "args": c["args"]} for c in calls]
            listed = f"\n[tool calls: {json.dumps(made, ensure_ascii=False)}]" if made else ""
            return Message("assistant", f"{text}{listed}".strip() if made else text)
        case SystemMessage():
            return Message("system", text)
        case _:
            return Message("user", text)
