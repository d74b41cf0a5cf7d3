"""The tools of the server, as MCP describes tools."""

from __future__ import annotations

import json
from typing import Final

from mcp.types import Tool, ToolAnnotations

from toolplan.dialects import DIALECTS
from toolplan.path import Json
from toolplan.plan_json import json_schema
from toolplan.schema import Schema

MOST_QUESTION: Final = 10_000
"""The maximum size of a question, in characters."""

LONGEST_WAIT_S: Final = 86_400

DEFAULT_TOOLS: Final = 10
MOST_TOOLS: Final = 100
"""The most tools of one answer of `tools`."""

_SHA: Final[Json] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
EXAMPLE: Final[Json] = {
    "toolplan": 1,
    "steps": [
        {"id": "people", "tool": "people_list", "args": {"team": "sales"}},
        {
            "id": "mails",
            "tool": "mail_send",
            "for_each": "${people.data[*].address}",
            "args": {"to": "${item}", "subject": "The offices of ${people.data[0].team}"},
            "when": {"value": "${people.count}", "is": {"minimum": 1}},
        },
    ],
    "output": {"asked": "${people.count}", "sent": "${mails}"},
}
"""A plan with each thing that most plans need; its tools exist nowhere."""

_PLAN_SCHEMA: Final = json_schema()
_DEFINITIONS: Final = _PLAN_SCHEMA["$defs"]
_PLAN_FORM: Final[Json] = {
    key: part for key, part in _PLAN_SCHEMA.items() if key not in ("$schema", "$defs")
}
_ANY_PLAN: Final[tuple[Json, ...]] = (
    {"type": "object"},
    {"type": "array"},
    {"type": "string", "minLength": 1},
)
_PLAN: Final[Json] = {
    "description": "A plan: the JSON object itself, or its text in any dialect. Only names, "
    "arguments and outputs in the schemas of `tools` may be used, and only earlier steps.",
    "examples": [EXAMPLE],
    # the form is for those who write a plan: what is wrong with one is said by its check
    "anyOf": [_PLAN_FORM, *_ANY_PLAN],
}
_PLAN_AS_IN_CHECK: Final[Json] = {
    "description": "A plan, as `check` takes it.",
    "anyOf": [*_ANY_PLAN],
}
_DIALECT: Final[Json] = {
    "description": "The dialect of `plan`.",
    "enum": [*sorted(DIALECTS)],
    "default": "toolplan",
}
_RUN: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The name of a run, or its beginning.",
}
_WAIT: Final[Json] = {
    "type": "number",
    "minimum": 0,
    "maximum": LONGEST_WAIT_S,
    "description": "Return after so many seconds, while the run continues. Without this the "
    "result is returned when the run is over.",
}
_OUTPUTS: Final[Json] = {
    "type": "boolean",
    "default": False,
    "description": "Whether to return the output of every step, not only that of the plan.",
}
_DIAGNOSTICS: Final[Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "severity": {"enum": ["error", "warning"]},
            "step": {"type": ["string", "null"]},
            "pointer": {"type": "string"},
            "message": {"type": "string"},
            "help": {"type": ["string", "null"]},
            "fixed": {"type": "boolean"},
        },
        "required": ["code", "severity", "message"],
    },
}
_EFFECTS: Final[Json] = {
    "type": "array",
    "description": "The steps with effects, with their arguments.",
    "items": {
        "type": "object",
        "properties": {
            "step": {"type": "string"},
            "tool": {"type": "string"},
            "effects": {"enum": ["read", "write", "destructive", "unknown"]},
            "args": {"type": "object"},
            "calls": {"type": "integer"},
        },
        "required": ["step", "tool", "effects", "args", "calls"],
    },
}
_CHECKED: Final[dict[str, Json]] = {
    "plan": {"type": ["object", "null"], "description": "The plan as it would run."},
    "digest": {"anyOf": [_SHA, {"type": "null"}]},
    "needs_approval": {"type": "boolean"},
    "effects": _EFFECTS,
    "diagnostics": _DIAGNOSTICS,
    "diagnostics_left_out": {
        "type": "integer",
        "description": "The number of further diagnostics.",
    },
    "unchecked_references": {"type": "integer"},
}


def _object(properties: dict[str, Json], *required: str) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT: Final[Json] = {"type": "string"}
_SIZED: Final[dict[str, Json]] = {"path": _TEXT, "characters": {"type": "integer"}}
_RUN_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "run": {"type": "string"},
        "status": {"enum": ["running", "succeeded", "failed", "cancelled", "waiting", "in_doubt"]},
        "digest": {"type": "string"},
        "steps": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"state": {"type": "string"}, "error": {"type": ["object", "null"]}},
                "required": ["state"],
            },
        },
        "output": {"description": "The output of the plan; null until it is available."},
        "answer": {"type": ["object", "null"]},
        "help": {"type": ["string", "null"], "description": "What to do if the run has stopped."},
        "omitted": {
            "type": "array",
            "items": _object({**_SIZED, "shape": _TEXT, "beginning": _TEXT}, *_SIZED),
            "description": "The values that are too large; `runs` has pages of each by its path.",
        },
    },
    "required": ["run", "status", "steps", "output", "answer", "help"],
}


PLAN: Final = Tool(
    name="plan",
    title="Plan",
    description="Turn a question into a checked plan of tool calls, and run nothing. Returns the "
    "plan and its digest, or a question to the user (`clarification`), or why there is no plan "
    "(`refusal`). Pass the digest to `run`.",
    input_schema=_object(
        {
            "question": {"type": "string", "minLength": 1, "maxLength": MOST_QUESTION},
            "today": {
                "type": "string",
                "format": "date",
                "description": "The date for words like 'last week'.",
            },
        },
        "question",
    ),
    output_schema={
        "type": "object",
        "properties": {
            "outcome": {"enum": ["plan", "clarification", "refusal"]},
            "help": {"type": "string", "description": "What to do without an answer of the user."},
            **_CHECKED,
            "clarification": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "options": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["question", "options"],
            },
            "refusal": {
                "type": "object",
                "properties": {"reason": {"type": "string"}},
                "required": ["reason"],
            },
        },
        "required": ["outcome"],
    },
    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
)

FIND_TOOLS: Final = Tool(
    name="tools",
    title="Tools for plans",
    description="The tools that plans can call, as signatures `name(argument: type, optional?: "
    "type) -> result`: all, or those that match `query`, the best first. Tools that are not among "
    "the first `limit` are named in `others`; ask for one by its name for its JSON Schemas, too.",
    input_schema=_object(
        {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1_000,
                "description": "The name of a tool, or words for what it should do.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_TOOLS,
                "default": DEFAULT_TOOLS,
            },
            "schemas": {
                "type": "boolean",
                "default": False,
                "description": "Whether to return the JSON Schemas of all of them.",
            },
        }
    ),
    output_schema={
        "type": "object",
        "properties": {
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "description": {"type": "string"},
                        "effects": {"enum": ["read", "write", "destructive", "unknown"]},
                        "signature": {
                            "type": "string",
                            "description": "`[T]` is a list, `{a: T}` an object, `|` a choice.",
                        },
                        "arguments": {
                            "type": "array",
                            "items": _TEXT,
                            "description": "What their provider says of them.",
                        },
                        "input_schema": {"description": "The JSON Schema of its arguments."},
                        "output_schema": {
                            "description": "The JSON Schema of its output; null where the tool "
                            "declares none. References into the output use its keys."
                        },
                    },
                    "required": ["name", "description", "effects", "signature"],
                },
            },
            "types": {
                "type": "object",
                "additionalProperties": _TEXT,
                "description": "The types that signatures share, by name.",
            },
            "others": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of further tools.",
            },
            "omitted": {"type": "integer", "description": "The number of names left out."},
            "unavailable": {
                "type": "array",
                "items": _TEXT,
                "description": "The servers that cannot be used, and why: their tools are missing.",
            },
        },
        "required": ["tools", "others", "omitted"],
    },
    annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
)

CHECK: Final = Tool(
    name="check",
    title="Check a plan",
    description="Check a plan that you have written, and run nothing. Look at the schemas of the "
    "tools first: `tools`. Returns every problem with its place and help, and the digest of a plan "
    "that may run. Pass the digest to `run`. A plan is a list of steps, each one call of a tool; "
    f"an example: {json.dumps(EXAMPLE)}",
    input_schema={
        **_object({"plan": _PLAN, "dialect": _DIALECT}, "plan"),
        "$defs": _DEFINITIONS,
    },
    output_schema={
        "type": "object",
        "properties": {
            "valid": {"type": "boolean", "description": "It has no errors as written."},
            "runnable": {"type": "boolean", "description": "It may run, with safe fixes applied."},
            **_CHECKED,
        },
        "required": ["valid", "runnable", "diagnostics", "digest"],
    },
    annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
)

RUN: Final = Tool(
    name="run",
    title="Run a plan",
    description="Run a plan unchanged: the `digest` of one from `plan` or `check`, or the `plan` "
    "itself, which is checked first. A plan with effects runs only after a person has approved it "
    "outside of this conversation: the error has its digest, its effects, and the command for "
    "that person.",
    input_schema=_object(
        {
            "digest": {**_SHA, "description": "Of a plan that was planned or checked here."},
            "plan": _PLAN_AS_IN_CHECK,
            "dialect": _DIALECT,
            "wait_s": _WAIT,
            "outputs": _OUTPUTS,
        }
    ),
    output_schema=_RUN_OUTPUT,
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)

RUNS: Final = Tool(
    name="runs",
    title="Runs",
    description="List the latest runs, show one (`run`), or a page of the JSON text of one of its "
    "values (`path`, `offset`).",
    input_schema=_object(
        {
            "run": _RUN,
            "path": {
                "type": "string",
                "pattern": "^/",
                "maxLength": 1_000,
                "description": "A JSON Pointer, as in `omitted`: /output, /steps/NAME/output/0.",
            },
            "offset": {"type": "integer", "minimum": 0, "default": 0},
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
            "outputs": _OUTPUTS,
        }
    ),
    output_schema={
        "type": "object",
        "properties": {
            "runs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "run": {"type": "string"},
                        "created_at": {"type": "string", "format": "date-time"},
                        "status": {"type": "string"},
                        "is_left": {
                            "type": "boolean",
                            "description": "It is not over, but no process works on it.",
                        },
                        "digest": {"type": "string"},
                        "question": {"type": "string"},
                        "tools": {"type": "string"},
                    },
                    "required": ["run", "created_at", "status", "is_left"],
                },
            },
            "run": _RUN_OUTPUT,
            "page": _object(
                {
                    **_SIZED,
                    "offset": {"type": "integer"},
                    "text": _TEXT,
                    "next_offset": {"type": ["integer", "null"]},
                },
                "text",
                "next_offset",
            ),
        },
    },
    annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
)

RESUME: Final = Tool(
    name="resume",
    title="Resume a run",
    description="Resume a run that was interrupted or cancelled. Steps that are done are not "
    "repeated. A run that waits for an approval, or is in doubt, needs a person: the result has "
    "the command for that person.",
    input_schema=_object({"run": _RUN, "wait_s": _WAIT, "outputs": _OUTPUTS}, "run"),
    output_schema=_RUN_OUTPUT,
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
    ),
)

EXPLAIN: Final = Tool(
    name="explain",
    title="Explain a code",
    description="Explain the code of a diagnostic or an error; without one, list all codes.",
    input_schema=_object({"code": {"type": "string", "maxLength": 100}}),
    output_schema={
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "page": {"type": "string"},
            "codes": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
)

TOOLS: Final = (PLAN, FIND_TOOLS, CHECK, RUN, RUNS, RESUME, EXPLAIN)
"""All tools, in the order of the list."""

INPUTS: Final = {tool.name: Schema.load(tool.input_schema) for tool in TOOLS}
"""The input schema of each tool, by name."""
