"""`toolplan schema`: the JSON that commands print, as JSON Schemas that programs may rely on.

The schemas are closed wherever the fields are ours: tests hold each command to them, so that a
field which comes or goes is a decision. `docs/json-output.md` is made of this module.
"""

from __future__ import annotations

from typing import Final, cast

from toolplan.base.error_pages import ERROR_PAGES
from toolplan.cli.options import JsonFlag, ToolOptions, ToolsOption
from toolplan.cli.terminal import CommandError, out, print_json
from toolplan.compiler.rules import rule_pages
from toolplan.plan.canonical import json_schema
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json

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
"""The parts of a command's output that are not stable."""

UNSTABLE: Final = {
    "doctor": "`faults`, `findings`",
    "explain": "`code`, `page`; without CODE the first line of each page by its code",
    "hints": "a list of tool objects; with `--output` of the hints",
    "init": "`files`, `next`",
    "install": "for each client `path`, `changed`, `servers`, `moved`, `stays`, `skill`",
    "login": "`server`, `signed_in`, and where it is kept",
    "logout": "`server`, `was_signed_in`",
    "uninstall": "as `install`",
}
"""The commands whose output may change, and their output."""


def _schema(kind: str) -> Json:
    """Return the schema of a type: `str`, `str?` (or null), `str[]` (a list), `str{}` (a map).

    A name that is none of `_TYPES` is another form.
    """
    if kind.endswith("?"):
        return {"anyOf": [_schema(kind[:-1]), {"type": "null"}]}
    if kind.endswith("[]"):
        return {"type": "array", "items": _schema(kind[:-2])}
    if kind.endswith("{}"):
        return {"type": "object", "additionalProperties": _schema(kind[:-2])}
    return _TYPES.get(kind, {"$ref": f"#/$defs/{kind}"})


def _object(fields: str) -> dict[str, Json]:
    """Return the schema of an object with these fields, `name: type`, and no others.

    Those written as `name?: type` may be absent.
    """
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for field in fields.split(", "):
        name, _, kind = field.partition(": ")
        properties[name.rstrip("?")] = _schema(kind)
        if not name.endswith("?"):
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_RUN_STATES: Final = ("running", "succeeded", "failed", "cancelled", "waiting", "in_doubt")
_TYPES: Final[dict[str, Json]] = {
    "any": True,
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "str": {"type": "string"},
    "object": {"type": "object"},
    "true": {"const": True},
    "pointer": {"type": "string", "format": "json-pointer"},
    "date": {"type": "string", "format": "date-time"},
    "time": {"type": ["number", "null"], "description": "Seconds since 1970-01-01, UTC."},
    "item": {
        "type": ["integer", "null"],
        "description": "The number of the item; null without `for_each`.",
    },
    "cursor": {
        "type": ["string", "null"],
        "description": "For `--after`; null: there are no more.",
    },
    "incomplete": {"const": False, "description": "Only there where a list may be a part."},
    "effects": {"enum": ["read", "write", "destructive", "unknown"]},
    "severity": {"enum": ["error", "warning"]},
    "outcome": {"enum": ["right", "wrong", "asked", "failed"]},
    "difference": {"enum": ["added", "removed", "changed"]},
    "annotations": {
        "type": "object",
        "properties": {
            "effects": {"enum": ["read", "write", "destructive", "unknown"]},
            "idempotent": {"type": "boolean"},
        },
        "required": ["effects", "idempotent"],
    },
}
_CALL: Final = "item: item, tool: str, args: object"
_PART: Final = "complete?: incomplete, partial?: part[]"
_RUN: Final = (
    "run: str, status: run_state, steps: step_run{}, output: any, answer: answer?, error?: failure"
)
_USED: Final = (
    "seconds: number, calls: int, tokens_in: int, tokens_cached: int, tokens_out: int,"
    " cost_usd: number?"
)
_COUNTS: Final = (
    "asked: int, right: int, wrong: int, asked_back: int, failed: int, first_draft: int,"
    " repaired: int, invented: int"
)
_OBJECTS: Final = {
    # runs
    "failure": "code: str, message: str, pointer: str",
    "part": "step: str, rows: int, total: int?, reason: str, text: str",
    "call_in_doubt": f"{_CALL}, reason: str, result: any",
    "call_waiting": f"{_CALL}, origins: any, digest: str",
    "step_run": "state: step_state, output: any, error: failure?, started_at: time, ended_at: time,"
    f" attempts: int, {_PART}, in_doubt?: item[], calls_in_doubt?: call_in_doubt[],"
    " calls_waiting?: call_waiting[]",
    "summary": "text: str, format: str, model: str?, reason: str?, unsupported: str[]",
    "answered_run": f"{_RUN}, {_PART}, summary?: summary",
    "item_run": "item: int, state: step_state",
    "shown_run": f"{_RUN}, {_PART}, items: item_run[]{{}}, is_left: bool, without_worker: str?,"
    " plan: plan?",
    "listed_run": "run: str, created_at: date, status: run_state, is_left: bool,"
    " without_worker: str?, digest: str, question: str, tools: str",
    "runs": "runs: listed_run[], next: cursor",
    # answers
    "answer": "headline: str, sections: section[], problems: problem[], on_the_way: str[],"
    f" text: str, {_PART}",
    "section": "step: str, title: str, summary: str, total: int, columns: str[],"
    " rows: object[], hidden: str[], insights: insight[]",
    "insight": "text: str, step: str, columns: str[]",
    "problem": "step: str, state: step_state, code: str, message: str, fatal: bool",
    # plans
    "text": "dialect: str, text: str",
    "clarification": "clarification: question_back",
    "question_back": "question: str, options: str[], unexplained: str[], partial_plan: any,"
    " examples: str[]",
    "refusal": "refusal: refusal_reason",
    "refusal_reason": "reason: str",
    "edit": "pointer: str, value?: any, remove?: true",
    "fix": "safe: bool, edits: edit[]",
    "diagnostic": "code: str, severity: severity, step: str?, pointer: pointer, message: str,"
    " help: str?, fix: fix?, fixed: bool",
    "report": "valid: bool, diagnostics: diagnostic[], unchecked_references: int",
    # questions with expected plans
    "tests": "failed: int, tests: test[]",
    "test": "file: str, question: str, today: str?, passed: int, times: int,"
    " problems: str[][], plan: plan?",
    "evaluated": "variants: variant[]",
    "variant": f"name: str, model: str?, instructions: str, {_COUNTS}, {_USED},"
    " questions: measured[]",
    "measured": "file: str, question: str, today: str?, outcome: outcome, problems: str[],"
    f" drafts: int, invented: int, {_USED}",
    # comparisons
    "change": "pointer: str, before?: any, after?: any",
    "differences": "same: bool, steps: step_change[], output: change[], before: side, after: side",
    "step_change": "kind: difference, tool: str, changes: change[], before?: str, after?: str",
    "side_file": "file: str",
    "side_run": "run: str, status: run_state, approved: bool, approvals: str[]",
    "flows": "valid: bool, flows: flow[], secrets_could_leave_by: str[], diagnostics: diagnostic[],"
    " unasked?: standing{}",
    "standing": "args: object, until?: str",
    "flow": "step: str, pointer: str, kind: str, needs: str, label: str, sources: origin[],"
    " verdict: str, default?: any",
    "origin": "step: str, tool: str, path: str",
    # tools, approvals and errors
    "tool": "name: str, description: str, input_schema: any, output_schema: any,"
    " annotations: annotations",
    "effect": "step: str, tool: str, effects: effects, args: object, defaults: object,"
    " invented: str[], for_each: any, conditional: bool, when: condition?, calls: int,"
    " exact: bool",
    "condition": "value: any, is: any",
    "approval": "digest: str, effects: effect[]",
    "submitted": "run: str, queue: str, approval: approval?",
    "approved": "run: str, digest: str",
    "cancelled": "run: str, status: run_state",
    "sent": "run: str, sent: true",
    "error": "error: fault",
    "fault": "code: str, message: str, help: str?, diagnostics?: diagnostic[],"
    " digest?: str, effects?: effect[]",
}
"""The fields of each form that is an object."""


def forms() -> dict[str, Json]:
    """Return the schema of each form, and of each part of one, by name."""
    plan = json_schema()
    parts = cast("dict[str, Json]", plan.pop("$defs"))
    del plan["$schema"]
    return {
        **parts,
        "plan": plan,
        "run_state": {"enum": [*_RUN_STATES]},
        "step_state": {"enum": [*_RUN_STATES, "pending", "skipped"]},
        "side": {"anyOf": [_schema("side_file"), _schema("side_run")]},
        "tools": _schema("tool[]"),
        **{name: _object(fields) for name, fields in _OBJECTS.items()},
    }


def output_schema(name: str) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of what `name`, a command of `OUTPUTS`, prints."""
    stable: list[Json] = [_schema(form) for form in OUTPUTS[name]]
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


def schema_command(
    command: str | None = None, *, tools: ToolsOption = None, as_json: JsonFlag = False
) -> None:
    """Print the JSON Schema of plans, or of what COMMAND prints with --json.

    It covers the form of a plan; `toolplan check` covers all of it. With --tools only the names of
    these tools are valid. COMMAND is one with a stable output, or `error`: what any command prints
    on standard error. It is JSON, with --json or without.
    """
    if command is not None:
        help_ = f"Schemas: {', '.join(OUTPUTS)}; without a name that of plans."
        if command not in OUTPUTS:
            raise CommandError("usage", f"There is no schema of {command!r}.", help_)
        if tools:
            raise CommandError("usage", "--tools is for the schema of plans.", help_)
        print_json(output_schema(command))
        return
    with ToolOptions(tools=tools).opened_if_given() as opened:
        print_json(json_schema(None if opened is None else opened.tools))


def explain_command(code: str | None = None, *, as_json: JsonFlag = False) -> None:
    """Explain the code of a problem or an error; without CODE, list all codes."""
    pages = {**ERROR_PAGES, **rule_pages()}
    if code is None:
        summaries: dict[str, Json] = {n: page.partition("\n")[0] for n, page in pages.items()}
        if as_json:
            print_json(summaries)
        else:
            for name, summary in sorted(summaries.items()):
                out().print(f"{name:24}{summary}")
        return
    if code not in pages:
        help_ = did_you_mean(near(code, pages)) or "`toolplan explain` lists them."
        raise CommandError("unknown-code", f"There is no code {code!r}.", help_)
    if as_json:
        print_json({"code": code, "page": pages[code]})
    else:
        out().print(f"{code}\n\n{pages[code]}")
