"""Structured replies: a model is asked for JSON with a schema, and its reply is checked.

The planner's reply becomes the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from msgspec import Struct

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan.providers import Message, Model, ModelRequest, complete
from toolplan.schema import Schema
from toolplan_langgraph.approval import is_storable
from toolplan_langgraph.state import Decision, PlannerResult, Stop, Task

_THINKING: Final = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_MOST_READ: Final = 200_000
_MOST_STARTS: Final = 50
_MOST_SHOWN: Final = 8


class Form(Struct, frozen=True):
    """The form of a role's reply: its schema, and the values of fields that may be absent."""

    role: str
    schema: Json
    absent: Mapping[str, Json]


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


_TEXT: Final[Json] = {"type": "string"}
_TEXT_OR_NULL: Final[Json] = {"type": ["string", "null"]}

PLANNER_FORM: Final = Form(
    "planner",
    _object(
        decision={"enum": ["continue", "replace"]},
        plan={"type": "array", "items": _object(expert=_TEXT, task=_TEXT)},
        next_task={"type": "integer"},
        clarification=_TEXT_OR_NULL,
        explanation=_TEXT_OR_NULL,
    ),
    {"plan": [], "next_task": 0, "clarification": None, "explanation": None},
)
STEP_FORM: Final = Form(
    "expert",
    _object(
        kind={"enum": ["tool_calls", "answer", "ask_human", "idk"]},
        text=_TEXT,  # the answer, the question or the reason
        tool_calls={"type": "array", "items": _object(name=_TEXT, args={"type": "object"})},
    ),
    {"text": "", "tool_calls": []},
)
ASSESSMENT_FORM: Final = Form(
    "assessor",
    _object(
        is_completed={"type": "boolean"},
        explanation=_TEXT,
        confidence={"type": "number", "minimum": 0, "maximum": 1},
    ),
    {"explanation": "", "confidence": 1.0},
)


async def structured_reply(
    model: Model,
    messages: Sequence[Message],
    form: Form,
    problems: Callable[[dict[str, Json]], Sequence[str]],
    tries: int,
) -> dict[str, Json]:
    """Return a reply that fits `form` and in which `problems` finds nothing.

    The problems of a reply go back to the model, which is asked at most `tries` times.
    """
    schema = json.dumps(form.schema, ensure_ascii=False, separators=(",", ":"))
    asked = f"Reply with one JSON object, and nothing else, of this schema:\n{schema}"
    sent = [*messages, Message("user", asked)]
    wrong: Sequence[str] = ()
    for _ in range(tries):
        reply = await complete(model, ModelRequest(tuple(sent), form.schema))
        try:
            read = _read(reply.text, form)
            wrong = problems(read)
            if not wrong:
                return read
        except (ValueError, RecursionError) as error:
            wrong = [str(each) for each in error.args]
        listed = "\n".join(f"- {each}" for each in wrong[:_MOST_SHOWN])
        sent += [
            Message("assistant", reply.text),
            Message("user", f"The reply is not valid:\n{listed}\nReply with a corrected object."),
        ]
    raise Stop("reply", f"The {form.role} gave no valid reply: {' '.join(wrong[:_MOST_SHOWN])}")


def _read(text: str, form: Form) -> dict[str, Json]:
    """Return the first JSON object in `text`; prose and fences are skipped."""
    body = _THINKING.sub("", text, count=1)
    if len(body) > _MOST_READ:
        raise ValueError(f"The reply has {len(body)} characters; {_MOST_READ} is the maximum.")
    at = -1
    for _ in range(_MOST_STARTS):
        at = body.find("{", at + 1)
        if at < 0:
            break
        try:
            found = cast("dict[str, Json]", json.JSONDecoder().raw_decode(body, at)[0])
        except (ValueError, RecursionError):
            continue
        if not is_storable(found):
            raise ValueError("There is an integer of more than 64 bits; write it as text.")
        reply = {**form.absent, **found}
        if violations := Schema.load(form.schema).violations(reply):
            raise ValueError(*(f"{each.pointer or '/'}: {each.message}" for each in violations))
        return reply
    raise ValueError("There is no JSON object in the reply.")


def plan_problems(
    reply: dict[str, Json], current: PlannerResult | None, experts: Sequence[str]
) -> list[str]:
    """Return the problems of a planner's reply that has the right form.

    `current` is the current plan, if there is one; `experts` are the names of the experts.
    """
    found = planned(reply, current)
    plan, index = _tasks(reply), cast("int", reply["next_task"])
    first_open = 0
    if found["clarification"] is not None:
        return []
    problems: list[str] = []
    if found["decision"] == "continue":
        if not found["plan"]:
            return ["/decision: There is no plan to continue; decide `replace`."]
        if plan and plan != found["plan"]:
            problems.append("/plan: It is not the current plan; decide `replace` to change it.")
        first_open = 0 if current is None else current["next_task"]
    else:
        for at, task in enumerate(plan):
            if task["expert"] not in experts:
                hint = did_you_mean(near(task["expert"], experts))
                hint = hint or f"Experts: {', '.join(experts)}."
                message = f"/plan/{at}/expert: There is no expert {task['expert']!r}. {hint}"
                problems.append(message)
            if not task["task"].strip():
                problems.append(f"/plan/{at}/task: It is empty.")
    most = len(found["plan"]) - 1
    if found["plan"] and not first_open <= index <= most:
        # tasks that are done are not repeated
        problems.append(f"/next_task: It must be from {first_open} to {most}, not {index}.")
    return problems


def planned(reply: dict[str, Json], current: PlannerResult | None) -> PlannerResult:
    """Return the plan after a valid reply; one that asks a question keeps the plan."""
    asked = reply["clarification"]
    question = (asked.strip() or None) if isinstance(asked, str) else None
    decision, index = cast("Decision", reply["decision"]), cast("int", reply["next_task"])
    plan = [] if current is None else current["plan"]
    if question is not None:
        index = 0 if current is None else current["next_task"]
    elif decision == "replace":
        plan = _tasks(reply)
        index = index if plan else 0
    return PlannerResult(decision=decision, plan=plan, next_task=index, clarification=question)


def _tasks(reply: dict[str, Json]) -> list[Task]:
    listed = cast("list[dict[str, str]]", reply["plan"])  # the reply fits its schema
    return [Task(expert=each["expert"], task=each["task"]) for each in listed]
