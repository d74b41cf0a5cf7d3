"""The conversation as messages for models of any provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from toolplan.providers import Message

_CLOSING: Final = "</tool_result"


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
