"""The conversation as models of any provider read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from toolplan.providers import Message

_CLOSING: Final = "</tool_result"


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, whose content may come in parts."""
    return str(message.text)


def transcript(messages: Sequence[BaseMessage], result_chars: int) -> list[Message]:
    """Return `messages` in our own form; of each result at most `result_chars` characters.

    Results of tools stand between marks, in messages of the user's side: no provider has to know
    of tool calls, and what a tool gave cannot pass for the word of a person.
    """
    return [_told(message, result_chars) for message in messages]


def cut(text: str, most: int) -> str:
    """Return `text`, or its beginning with a note of how much is missing."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: {most} of {len(text)} characters]"


def _told(message: BaseMessage, result_chars: int) -> Message:
    text = text_of(message)
    match message:
        case ToolMessage(tool_call_id=call):
            body = cut(text, result_chars).replace(_CLOSING, "<\\/tool_result")
            return Message("user", f'<tool_result call="{call}">\n{body}\n</tool_result>')
        case AIMessage(tool_calls=calls) if calls:
            made = [{"call": c["id"], "name": c["name"], "args": c["args"]} for c in calls]
            listed = json.dumps(made, ensure_ascii=False)
            return Message("assistant", f"{text}\n[tool calls: {listed}]".strip())
        case AIMessage():
            return Message("assistant", text)
        case HumanMessage():
            return Message("user", text)
        case SystemMessage():
            return Message("system", text)
        case _:
            return Message("user", text)
