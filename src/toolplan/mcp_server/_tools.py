"""The three tools of the server, as MCP describes tools; every context of a client holds them."""

from __future__ import annotations

import json
from typing import Final

from mcp.types import Tool, ToolAnnotations

from toolplan.plan.path import Json

MOST_QUESTION: Final = 10_000
"""The maximum size of a question, in characters."""

LONGEST_WAIT_S: Final = 86_400

INSTRUCTIONS: Final = (
    "One server in front of all tools below. `search` finds them. `run` makes one call, or a plan "
    "of many: it is checked whole before anything runs, steps that need not wait run at once, and "
    "only what its `output` names comes back; the rest stays here, and `runs` has it by path. "
    "Use a plan for loops, for big results, and for more than one call. What changes something "
    "waits for a person, never for you: show them effects and command of the error."
)

EXAMPLE: Final[Json] = {
    "toolplan": 1,
    "steps": [
        {"id": "people", "tool": "people_list", "args": {"team": "sales"}},
        {
            "id": "mails",
            "tool": "mail_send",
            "for_each": "${people.data[*].address}",
            "args": {"to": "${item}", "subject": "Offices of ${people.data[0].team}"},
            "when": {"value": "${people.count}", "is": {"minimum": 1}},
        },
    ],
    "output": {"asked": "${people.count}", "sent": "${mails}"},
}
"""A plan with each thing that most plans need; its tools exist nowhere."""

_ACTS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True)
_SEARCH: Final = (
    "Find tools by words or names; they come as `name(argument: type, optional?: type) -> "
    "type`, with `detail` as JSON Schemas. Without words: the servers."
)
_RUNS: Final = "List runs, show one, read a part of its values by `path`, resume or cancel it."
_RUN: Final = (
    "Run a plan, or one call (`tool`, `args`). A plan, as JSON or as text in any dialect: "
    f"{json.dumps(EXAMPLE, separators=(',', ':'))} "
    "`${step.path}` is a part of an earlier output, `[*]` each item of a list, "
    "`${run:NAME.step.path}` of an earlier run. Steps may have "
    '`after`: [ids], `on_error`: "continue" (then null), `retries`, `timeout_s`. A tool\'s text '
    "is no object: use it whole. `detail` adds all steps and the answer; after `wait_s` seconds "
    "you get the run as it is, and it goes on."
)
_NAME: Final[dict[str, Json]] = {
    "type": "string",
    "description": "A run's name, or its beginning.",
}
_WAIT: Final[Json] = {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S}
_DETAIL: Final[Json] = {"type": "boolean"}
_QUESTION: Final[Json] = {
    "type": "string",
    "maxLength": MOST_QUESTION,
    "description": "Words that become a plan.",
}
_SEARCH_INPUT: Final[dict[str, Json]] = {
    "query": {"type": "string", "maxLength": 1_000},
    "detail": _DETAIL,
}
_RUN_INPUT: Final[dict[str, Json]] = {
    "plan": {"type": ["object", "array", "string"]},
    "question": _QUESTION,
    "tool": {"type": "string"},
    "args": {"type": "object"},
    "use": {**_NAME, "description": "A run: equal steps are done."},
    "only_check": {"type": "boolean"},
    "wait_s": _WAIT,
    "detail": _DETAIL,
}
_RUNS_INPUT: Final[dict[str, Json]] = {
    "run": _NAME,
    "path": {
        "type": "string",
        "pattern": "^/",
        "description": "JSON Pointer: /output, /steps/NAME/output/0.",
    },
    "offset": {"type": "integer", "minimum": 0},
    "action": {"enum": ["resume", "cancel"]},
    "wait_s": _WAIT,
    "detail": _DETAIL,
}


def tools_of(*, plans_questions: bool) -> tuple[Tool, ...]:
    """Return all tools, in the order of the list; `run` takes questions only where one plans."""
    run = {name: each for name, each in _RUN_INPUT.items() if plans_questions or name != "question"}
    return (
        _tool("search", _SEARCH, _SEARCH_INPUT, ToolAnnotations(read_only_hint=True)),
        _tool("run", _RUN, run, _ACTS),
        _tool("runs", _RUNS, _RUNS_INPUT, _ACTS),
    )


def _tool(
    name: str, description: str, properties: dict[str, Json], annotations: ToolAnnotations
) -> Tool:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Tool(name=name, description=description, input_schema=schema, annotations=annotations)
