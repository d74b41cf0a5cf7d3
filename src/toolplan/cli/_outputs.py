"""The JSON that commands print, as JSON Schemas: what programs may rely on.

The schemas are closed wherever the fields are ours: tests hold each command to them, so that a
field which comes or goes is a decision. `docs/json-output.md` is made of this module.
"""

from __future__ import annotations

from typing import Final, cast

from toolplan.path import Json
from toolplan.plan_json import json_schema

OUTPUTS: Final = {
    "approve": ("approved",),
    "ask": ("answered_run", "clarification", "refusal", "plan"),
    "cancel": ("cancelled",),
    "check": ("report",),
    "convert": ("plan", "text"),
    "diff": ("differences",),
    "error": ("error",),
    "eval": ("evaluated",),
    "plan": ("plan", "text", "clarification", "refusal"),
    "policy": ("flows",),
    "resume": ("answered_run", "sent"),
    "run": ("answered_run",),
    "runs": ("runs",),
    "show": ("plan", "shown_run"),
    "submit": ("submitted", "answered_run"),
    "test": ("tests",),
    "tools": ("tools",),
}
"""The commands whose output is stable, and its forms; `error` is any command's on stderr."""

EXCEPT: Final = {
    "convert": "other JSON dialects, which are printed as they are",
    "plan": "other JSON dialects, which are printed as they are, and `--state`",
    "policy": "`policy init`",
    "run": "`--dry-run`",
    "runs": "`--prune` and `--backup`",
    "tools": "`--lint` and `--accept`",
}
"""What of a command's output is not stable."""

UNSTABLE: Final = {
    "doctor": "`faults`, `findings`",
    "explain": "`code`, `page`; without CODE the first line of each page by its code",
    "hints": "a list of tool objects; with `--output` of the hints",
    "init": "`files`, `next`",
    "install": "for each client `path`, `changed`, `servers`, `moved`, `stays`",
    "login": "`server`, `signed_in`, and where it is kept",
    "logout": "`server`, `was_signed_in`",
    "uninstall": "as `install`",
}
"""The commands whose output may change, and what they print."""


def _closed(fields: dict[str, Json], /, **optional: Json) -> dict[str, Json]:
    """Return the schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": {**fields, **optional},
        "required": [*fields],
        "additionalProperties": False,
    }


def _list(of: Json) -> dict[str, Json]:
    return {"type": "array", "items": of}


def _map(of: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": of}


def _ref(name: str) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: dict[str, Json]) -> dict[str, Json]:
    return {"anyOf": [schema, {"type": "null"}]}


_ANY: Final[Json] = True
_BOOL: Final[dict[str, Json]] = {"type": "boolean"}
_INT: Final[dict[str, Json]] = {"type": "integer"}
_TEXT: Final[dict[str, Json]] = {"type": "string"}
_TEXT_OR_NULL: Final[dict[str, Json]] = {"type": ["string", "null"]}
_INT_OR_NULL: Final[dict[str, Json]] = {"type": ["integer", "null"]}
_SECONDS: Final[dict[str, Json]] = {
    "type": ["number", "null"],
    "description": "Seconds since 1970-01-01, UTC.",
}
_USED: Final[dict[str, Json]] = {
    "seconds": {"type": "number"},
    "calls": _INT,
    "tokens_in": _INT,
    "tokens_cached": _INT,
    "tokens_out": _INT,
    "cost_usd": {"type": ["number", "null"]},
}
_EFFECTS: Final[dict[str, Json]] = {"enum": ["read", "write", "destructive", "unknown"]}
_RUN_STATES: Final[tuple[Json, ...]] = (
    "running", "succeeded", "failed", "cancelled", "waiting", "in_doubt"
)  # fmt: skip
_CALL: Final[dict[str, Json]] = {
    "item": {**_INT_OR_NULL, "description": "The number of the item; null without `for_each`."},
    "tool": _TEXT,
    "args": {"type": "object"},
}
_PART: Final[dict[str, Json]] = {
    "complete": {"const": False, "description": "Only there where a list may be a part."},
    "partial": _list(_ref("part")),
}
_RUN: Final[dict[str, Json]] = {
    "run": _TEXT,
    "status": _ref("run_state"),
    "steps": _map(_ref("step_run")),
    "output": _ANY,
    "answer": _or_null(_ref("answer")),
}


def _runs() -> dict[str, Json]:
    """Return the schemas of runs and what is in them, by name."""
    return {
        "run_state": {"enum": [*_RUN_STATES]},
        "step_state": {"enum": [*_RUN_STATES, "pending", "skipped"]},
        "failure": _closed({"code": _TEXT, "message": _TEXT, "pointer": _TEXT}),
        "part": _closed({
            "step": _TEXT, "rows": _INT, "total": _INT_OR_NULL, "reason": _TEXT, "text": _TEXT,
        }),
        "step_run": _closed(
            {
                "state": _ref("step_state"),
                "output": _ANY,
                "error": _or_null(_ref("failure")),
                "started_at": _SECONDS,
                "ended_at": _SECONDS,
                "attempts": _INT,
            },
            **_PART,
            in_doubt=_list(_INT_OR_NULL),
            calls_in_doubt=_list(_closed({**_CALL, "reason": _TEXT, "result": _ANY})),
            calls_waiting=_list(_closed({**_CALL, "origins": _ANY, "digest": _TEXT})),
        ),
        "answered_run": _closed(
            _RUN, error=_ref("failure"), **_PART, summary=_closed({
                "text": _TEXT,
                "format": _TEXT,
                "model": _TEXT_OR_NULL,
                "reason": _TEXT_OR_NULL,
                "unsupported": _list(_TEXT),
            }),
        ),
        "shown_run": _closed(
            {
                **_RUN,
                "items": _map(_list(_closed({"item": _INT, "state": _ref("step_state")}))),
                "is_left": _BOOL,
                "without_worker": _TEXT_OR_NULL,
                "plan": _or_null(_ref("plan")),
            },
            error=_ref("failure"),
            **_PART,
        ),
        "runs": _closed({
            "runs": _list(_closed({
                "run": _TEXT,
                "created_at": {**_TEXT, "format": "date-time"},
                "status": _ref("run_state"),
                "is_left": _BOOL,
                "without_worker": _TEXT_OR_NULL,
                "digest": _TEXT,
                "question": _TEXT,
                "tools": _TEXT,
            })),
            "next": {**_TEXT_OR_NULL, "description": "For `--after`; null: there are no more."},
        }),
    }  # fmt: skip


def _answers() -> dict[str, Json]:
    """Return the schemas of answers and what is in them, by name."""
    return {
        "answer": _closed(
            {
                "headline": _TEXT,
                "sections": _list(_ref("section")),
                "problems": _list(_ref("problem")),
                "on_the_way": _list(_TEXT),
                "text": _TEXT,
            },
            **_PART,
        ),
        "section": _closed({
            "step": _TEXT,
            "title": _TEXT,
            "summary": _TEXT,
            "total": _INT,
            "columns": _list(_TEXT),
            "rows": _list({"type": "object"}),
            "hidden": _list(_TEXT),
            "insights": _list(_closed({"text": _TEXT, "step": _TEXT, "columns": _list(_TEXT)})),
        }),
        "problem": _closed({
            "step": _TEXT,
            "state": _ref("step_state"),
            "code": _TEXT,
            "message": _TEXT,
            "fatal": _BOOL,
        }),
    }  # fmt: skip


def _plans() -> dict[str, Json]:
    """Return the schemas of plans and of what is said about them, by name."""
    plan = json_schema()
    parts = cast("dict[str, Json]", plan.pop("$defs"))
    del plan["$schema"]
    edit = _closed({"pointer": _TEXT}, value=_ANY, remove={"const": True})
    return {
        **parts,
        "plan": plan,
        "text": _closed({"dialect": _TEXT, "text": _TEXT}),
        "clarification": _closed({"clarification": _closed({
            "question": _TEXT,
            "options": _list(_TEXT),
            "unexplained": _list(_TEXT),
            "partial_plan": _ANY,
            "examples": _list(_TEXT),
        })}),
        "refusal": _closed({"refusal": _closed({"reason": _TEXT})}),
        "diagnostic": _closed({
            "code": _TEXT,
            "severity": {"enum": ["error", "warning"]},
            "step": _TEXT_OR_NULL,
            "pointer": {**_TEXT, "format": "json-pointer"},
            "message": _TEXT,
            "help": _TEXT_OR_NULL,
            "fix": _or_null(_closed({"safe": _BOOL, "edits": _list(edit)})),
            "fixed": _BOOL,
        }),
        "report": _closed({
            "valid": _BOOL,
            "diagnostics": _list(_ref("diagnostic")),
            "unchecked_references": _INT,
        }),
    }  # fmt: skip


def _questions() -> dict[str, Json]:
    """Return the schemas of questions whose plans are compared with gold, by name."""
    return {
        "tests": _closed({"failed": _INT, "tests": _list(_closed({
            "file": _TEXT,
            "question": _TEXT,
            "today": _TEXT_OR_NULL,
            "passed": _INT,
            "times": _INT,
            "problems": _list(_list(_TEXT)),
            "plan": _or_null(_ref("plan")),
        }))}),
        "evaluated": _closed({"variants": _list(_closed({
            "name": _TEXT,
            "model": _TEXT_OR_NULL,
            "instructions": _TEXT,
            "asked": _INT,
            "right": _INT,
            "wrong": _INT,
            "asked_back": _INT,
            "failed": _INT,
            "first_draft": _INT,
            "repaired": _INT,
            "invented": _INT,
            **_USED,
            "questions": _list(_closed({
                "file": _TEXT,
                "question": _TEXT,
                "today": _TEXT_OR_NULL,
                "outcome": {"enum": ["right", "wrong", "asked", "failed"]},
                "problems": _list(_TEXT),
                "drafts": _INT,
                "invented": _INT,
                **_USED,
            })),
        }))}),
    }  # fmt: skip


def _comparisons() -> dict[str, Json]:
    """Return the schemas of what plans are compared with, by name."""
    change = _closed({"pointer": _TEXT}, before=_ANY, after=_ANY)
    return {
        "differences": _closed({
            "same": _BOOL,
            "steps": _list(_closed(
                {
                    "kind": {"enum": ["added", "removed", "changed"]},
                    "tool": _TEXT,
                    "changes": _list(change),
                },
                before=_TEXT,
                after=_TEXT,
            )),
            "output": _list(change),
            "before": _ref("side"),
            "after": _ref("side"),
        }),
        "side": {"anyOf": [
            _closed({"file": _TEXT}),
            _closed({
                "run": _TEXT,
                "status": _ref("run_state"),
                "approved": _BOOL,
                "approvals": _list(_TEXT),
            }),
        ]},
        "flows": _closed({
            "valid": _BOOL,
            "flows": _list(_closed(
                {
                    "step": _TEXT,
                    "pointer": _TEXT,
                    "kind": _TEXT,
                    "needs": _TEXT,
                    "label": _TEXT,
                    "sources": _list(_closed({"step": _TEXT, "tool": _TEXT, "path": _TEXT})),
                    "verdict": _TEXT,
                },
                default=_ANY,
            )),
            "secrets_could_leave_by": _list(_TEXT),
            "diagnostics": _list(_ref("diagnostic")),
        }),
    }  # fmt: skip


def _others() -> dict[str, Json]:
    """Return the schemas of tools, approvals and errors, by name."""
    approval: dict[str, Json] = {"digest": _TEXT, "effects": _list(_ref("effect"))}
    return {
        "tools": _list(_closed({
            "name": _TEXT,
            "description": _TEXT,
            "input_schema": _ANY,
            "output_schema": _ANY,
            "annotations": {
                "type": "object",
                "properties": {"effects": _EFFECTS, "idempotent": _BOOL},
                "required": ["effects", "idempotent"],
            },
        })),
        "effect": _closed({
            "step": _TEXT,
            "tool": _TEXT,
            "effects": _EFFECTS,
            "args": {"type": "object"},
            "defaults": {"type": "object"},
            "invented": _list(_TEXT),
            "for_each": _ANY,
            "conditional": _BOOL,
            "when": _or_null(_closed({"value": _ANY, "is": _ANY})),
            "calls": _INT,
            "exact": _BOOL,
        }),
        "submitted": _closed({
            "run": _TEXT,
            "queue": _TEXT,
            "approval": _or_null(_closed(approval)),
        }),
        "approved": _closed({"run": _TEXT, "digest": _TEXT}),
        "cancelled": _closed({"run": _TEXT, "status": _ref("run_state")}),
        "sent": _closed({"run": _TEXT, "sent": {"const": True}}),
        "error": _closed({"error": _closed(
            {"code": _TEXT, "message": _TEXT, "help": _TEXT_OR_NULL},
            diagnostics=_list(_ref("diagnostic")),
            **approval,
        )}),
    }  # fmt: skip


def forms() -> dict[str, Json]:
    """Return the schema of each form, and of each part of one, by name."""
    return {**_plans(), **_comparisons(), **_questions(), **_runs(), **_answers(), **_others()}


def output_schema(name: str) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of what `name`, a command of `OUTPUTS`, prints."""
    stable: list[Json] = [_ref(form) for form in OUTPUTS[name]]
    used: dict[str, Json] = {}
    _add_used(stable, forms(), used)
    dialect: dict[str, Json] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**dialect, "anyOf": stable, "$defs": used}


def _add_used(node: Json, known: dict[str, Json], used: dict[str, Json]) -> None:
    """Add those of `known` to which `node` refers, directly or not, to `used`."""
    if isinstance(node, list):
        for each in node:
            _add_used(each, known, used)
    elif isinstance(node, dict):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name and name not in used:
            used[name] = known[name]
            _add_used(known[name], known, used)
        for each in node.values():
            _add_used(each, known, used)
