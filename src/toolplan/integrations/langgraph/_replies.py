"""Structured replies: a model is asked for JSON, told the schema, and what it says is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from toolplan.integrations.langgraph._kept import keeps
from toolplan.path import Json
from toolplan.providers import Message, Model, ModelRequest, complete
from toolplan.schema import Schema

_THINKING: Final = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_MOST_READ: Final = 200_000
_MOST_STARTS: Final = 50
_MOST_TOLD: Final = 8

PLAN: Final[Json] = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["continue", "replace"]},
        "plan": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"expert": {"type": "string"}, "task": {"type": "string"}},
                "required": ["expert", "task"],
                "additionalProperties": False,
            },
        },
        "next_task": {"type": "integer"},
        "clarification": {"type": ["string", "null"]},
        "explanation": {"type": ["string", "null"]},
    },
    "required": ["decision", "plan", "next_task", "clarification", "explanation"],
    "additionalProperties": False,
}
"""What the planner replies."""

STEP: Final[Json] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["tool_calls", "answer", "ask_human", "idk"]},
        "text": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
                "required": ["name", "args"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["kind", "text", "tool_calls"],
    "additionalProperties": False,
}
"""What an expert replies: `text` is the answer, the question or the reason."""

ASSESSMENT: Final[Json] = {
    "type": "object",
    "properties": {
        "is_completed": {"type": "boolean"},
        "explanation": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["is_completed", "explanation", "confidence"],
    "additionalProperties": False,
}
"""What the assessor replies."""


class NoUsableReply(Exception):
    """A model was asked several times, and never gave what was asked for; the text says why."""


class Form(NamedTuple):
    """What a role replies.

    `schema` is that of the reply, `absent` what counts where a field is left out.
    """

    role: str
    schema: Json
    absent: Mapping[str, Json]


PLANNER_FORM: Final = Form(
    "planner", PLAN, {"plan": [], "next_task": 0, "clarification": None, "explanation": None}
)
STEP_FORM: Final = Form("expert", STEP, {"text": "", "tool_calls": []})
ASSESSMENT_FORM: Final = Form("assessor", ASSESSMENT, {"explanation": "", "confidence": 1.0})


async def asked(
    model: Model,
    messages: Sequence[Message],
    form: Form,
    problems: Callable[[dict[str, Json]], Sequence[str]],
    tries: int,
) -> dict[str, Json]:
    """Return a reply that fits `form` and in which `problems` finds nothing.

    What is wrong with a reply goes back to the model, at most `tries` times in all.

    Raises:
        NoUsableReply: none of the replies was of use.
        ModelError: there is no reply.
    """
    told = f"Reply with one JSON object, and nothing else, of this schema:\n{_text(form.schema)}"
    sent = [*messages, Message("user", told)]
    wrong: Sequence[str] = ()
    for _ in range(tries):
        reply = await complete(model, ModelRequest(tuple(sent), form.schema))
        read = _read(reply.text, form)
        wrong = (read,) if isinstance(read, str) else (_unfit(read, form) or problems(read))
        if not wrong and not isinstance(read, str):
            return read
        listed = "\n".join(f"- {each}" for each in wrong[:_MOST_TOLD])
        sent += [
            Message("assistant", reply.text),
            Message("user", f"That cannot be used:\n{listed}\nReply with the mended JSON object."),
        ]
    raise NoUsableReply(f"The {form.role} gave no reply that can be used: {' '.join(wrong)}")


def _read(text: str, form: Form) -> dict[str, Json] | str:
    body = _THINKING.sub("", text, count=1)
    if len(body) > _MOST_READ:
        return f"The reply has {len(body)} characters; {_MOST_READ} is the most."
    first = _first_object(body)
    if first is None:
        return "There is no JSON object in the reply."
    if not keeps(first):
        return "There is an integer of more than 64 bits in the reply; write it as text."
    return {**form.absent, **first}


def _first_object(text: str) -> dict[str, Json] | None:
    """Return the first JSON object that stands in `text`; prose and fences are passed over."""
    decoder = json.JSONDecoder()
    at = -1
    for _ in range(_MOST_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            return cast("dict[str, Json]", decoder.raw_decode(text, at)[0])
        except (ValueError, RecursionError):
            continue
    return None


def _unfit(reply: dict[str, Json], form: Form) -> list[str]:
    violations = Schema.load(form.schema).violations(reply)
    return [f"{each.pointer or '/'}: {each.message}" for each in violations]


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
