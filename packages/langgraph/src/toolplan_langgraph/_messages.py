"""Messages: their tool calls as a plan like any other, and the conversation for models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage

from toolplan.compiler import Compiled
from toolplan.events import StepRun, StepState
from toolplan.providers import Message

_MOST_OF_AN_ERROR: Final = 2_000
_CLOSING: Final = "</tool_result"


def not_called(calls: Sequence[ToolCall], compiled: Compiled) -> list[ToolMessage]:
    """Return an error for each call of a plan that failed its check."""
    found: dict[str | None, list[str]] = {}
    for each in compiled.diagnostics:
        if each.blocks and not each.fixed:
            place = f" ({each.pointer})" if each.pointer else ""
            help_ = f" {each.help}" if each.help else ""
            found.setdefault(each.step, []).append(f"{each.message}{place}{help_}")
    other = ["Not called: another call of the same message is wrong."]
    return [
        failed(call, " ".join(found.get(f"c{at}", found.get(None, other))))
        for at, call in enumerate(calls, 1)
    ]


def failed(call: ToolCall, why: str) -> ToolMessage:
    return ToolMessage(
        f"Error: {why}", tool_call_id=call["id"] or "", name=call["name"], status="error"
    )


def result(call: ToolCall, step: StepRun, run: str) -> ToolMessage:
    """Return the result of a call, which was `step` of `run`."""
    if step.state is StepState.SUCCEEDED and step.error is None:
        output = step.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"])
    if step.state is StepState.IN_DOUBT:
        return failed(
            call,
            "It is unknown whether the call had its effect. Do not repeat it: a person decides"
            f" (run {run}).",
        )
    if step.error is None:
        return failed(call, "The call was cancelled.")
    beginning = "Not called: " if step.state is StepState.SKIPPED else ""
    return failed(call, f"{beginning}{cut(step.error.message, _MOST_OF_AN_ERROR)}")


def transcript(messages: Sequence[BaseMessage], result_chars: int) -> list[Message]:
    """Return `messages` for a model, with at most `result_chars` characters of each tool result.

    Tool results are marked text in user messages: so they work with every provider, and cannot be
    mistaken for the words of the user.
    """
    found: list[Message] = []
    for message in messages:
        text, role = str(message.text), "user"
        match message:
            case ToolMessage(tool_call_id=call):
                body = cut(text, result_chars).replace(_CLOSING, "<\\/tool_result")
                text = f'<tool_result call="{call}">\n{body}\n</tool_result>'
            case AIMessage(tool_calls=calls):
                role = "assistant"
                made = [{"call": c["id"], "name": c["name"], "args": c["args"]} for c in calls]
                if made:
                    listed = json.dumps(made, ensure_ascii=False)
                    text = f"{text}\n[tool calls: {listed}]".strip()
            case SystemMessage():
                role = "system"
            case _:
                pass
        found.append(Message(role, text))
    return found


def cut(text: str, most: int) -> str:
    """Return `text`, or its beginning with a note on how much is missing."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: {most} of {len(text)} characters]"
