"""Plans and runs as JSON for clients, with limited sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from toolplan.answer import InsightFunction, Thresholds, answer
from toolplan.approval import effect_steps
from toolplan.compiler import output_schemas
from toolplan.diagnostics import Diagnostic
from toolplan.diagnostics import to_json as diagnostic_to_json
from toolplan.events import Run, RunState, StepState
from toolplan.events import to_json as run_to_json
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._terminal_command import terminal_command
from toolplan.path import Json
from toolplan.plan import escape_pointer, split_pointer
from toolplan.plan_json import dump
from toolplan.planners.llm import argument_lines, signatures_text
from toolplan.render.approval_view import approval_json
from toolplan.render.doubt_view import call_text
from toolplan.render.printable import cut, printable
from toolplan.render.runs_view import SHORT
from toolplan.storage.journal import RunEntry
from toolplan.tool_search import search_tools
from toolplan.tools import Tool, Toolbox

MOST_OUTPUT: Final = 20_000
"""The maximum size of all values of one answer, in characters of JSON; `runs` has the others."""

MOST_DIAGNOSTICS: Final = 200
"""The maximum number of diagnostics; errors come before warnings."""

MOST_NAMES: Final = 1_000
"""The maximum number of names of tools beside those that are shown."""

_MOST_SHOWN: Final = 4_000
_MOST_STEPS: Final = 20
_MOST_NAME: Final = 64
_BEGINNING: Final = 500


def effects_report(plan: ExecutionPlan, tools: Toolbox) -> Json:
    """Return the steps with effects, with all their arguments."""
    return approval_json(effect_steps(plan, tools), plan.digest)["effects"]


def plan_report(plan: ExecutionPlan, tools: Toolbox) -> dict[str, Json]:
    """Return a plan that may run."""
    return {
        "plan": dump(plan.plan),
        "digest": plan.digest,
        "needs_approval": bool(plan.effects),
        "effects": effects_report(plan, tools),
        "unchecked_references": plan.unchecked_references,
    }


def diagnostics_report(diagnostics: Sequence[Diagnostic]) -> dict[str, Json]:
    """Return diagnostics in their wire form; if there are too many, errors come first."""
    shown = diagnostics
    if len(diagnostics) > MOST_DIAGNOSTICS:
        shown = sorted(diagnostics, key=lambda each: not each.blocks)[:MOST_DIAGNOSTICS]
    report: dict[str, Json] = {"diagnostics": [diagnostic_to_json(each) for each in shown]}
    if len(shown) < len(diagnostics):
        report["diagnostics_left_out"] = len(diagnostics) - len(shown)
    return report


def tools_report(
    toolbox: Toolbox, query: str | None, limit: int, *, schemas: bool = False
) -> dict[str, Json]:
    """Return the tools that match `query`, at most `limit`, and the names of further ones.

    A tool is a signature, with what is known of its arguments; with `schemas`, or where `query` is
    its name, it has its JSON Schemas, too.
    """
    if query is None:
        found = list(toolbox.values())
    elif (tool := toolbox.get(toolbox.alias(query) or query)) is not None:
        found, schemas = [tool], True
    else:
        found = [each.tool for each in search_tools(toolbox, query, len(toolbox))]
    names = [tool.name for tool in found[limit:]]
    types, signatures = signatures_text(found[:limit])
    about = argument_lines(found[:limit])

    def reported(tool: Tool) -> dict[str, Json]:
        given: dict[str, Json] = {
            "name": tool.name,
            "description": tool.description,
            "effects": tool.effects.value,
            "signature": signatures[tool.name],
        }
        if about[tool.name]:
            given["arguments"] = [*about[tool.name]]
        if schemas:
            given |= {"input_schema": tool.raw_input, "output_schema": tool.raw_output}
        return given if tool.unusable is None else {**given, "unusable": tool.unusable}

    return {
        "tools": [reported(tool) for tool in found[:limit]],
        **({"types": {**types}} if types else {}),
        "others": [*names[:MOST_NAMES]],
        "omitted": max(0, len(names) - MOST_NAMES),
    }


def run_report(
    run: Run,
    plan: ExecutionPlan | None,
    tools: Toolbox,
    *,
    insights: Sequence[InsightFunction] = (),
    thresholds: Thresholds | None = None,
    outputs: bool = False,
    most: int | None = MOST_OUTPUT,
) -> dict[str, Json]:
    """Return a run as `toolplan run --json` does, with the outputs of steps only if `outputs`.

    Without `plan` there is no answer. All values together have at most `most` characters of JSON
    (None: any number); one that does not fit is null, and described in `omitted`.
    """
    document = run_to_json(run)
    omitted: list[Json] = []
    left = most

    def limited(pointer: str, value: Json) -> Json:
        nonlocal left
        if left is None:
            return value
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > left:
            omitted.append(
                {
                    "path": pointer,
                    "characters": len(text),
                    "shape": _shape(value),
                    "beginning": text[:_BEGINNING],
                }
            )
            return None
        left -= len(text)
        return value

    document["output"] = limited("/output", document["output"])
    found: Json = None
    if plan is not None and run.status is not RunState.RUNNING:
        schemas = output_schemas(plan.plan, tools)
        ended = answer(
            plan, run, schemas=schemas, insights=insights, thresholds=thresholds or Thresholds()
        )
        found = ended.to_json()
        found = limited("/answer", found)
    steps = document["steps"]
    for name, step in steps.items() if isinstance(steps, dict) else ():
        if isinstance(step, dict):
            output = step.pop("output")
            if "calls_waiting" in step:
                pointer = f"/steps/{name}/calls_waiting"
                step["calls_waiting"] = limited(pointer, step["calls_waiting"])
            if outputs:
                step["output"] = limited(f"/steps/{name}/output", output)
    report = {**document, "digest": run.digest, "answer": found, "help": help_(run)}
    return {**report, "omitted": omitted} if omitted else report


def page_report(report: Json, path: str, offset: int) -> dict[str, Json]:
    """Return a page of the JSON text of the value at the pointer `path` of a whole `report`.

    Raises:
        CallRefused: there is no such value, or its text ends before `offset`.
    """
    value, place = report, ""
    for key in split_pointer(path):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise CallRefused(
                "unknown-path",
                f"The run has nothing at {path!r}.",
                f"At {place!r} there is: {_shape(value)}.",
            )
        place = f"{place}/{escape_pointer(key)}"
    text = json.dumps(value, ensure_ascii=False)
    if offset >= len(text):
        raise CallRefused("bad-offset", f"The value at {path!r} has {len(text)} characters.")
    end = offset + MOST_OUTPUT
    return {
        "path": path,
        "characters": len(text),
        "offset": offset,
        "text": text[offset:end],
        "next_offset": end if end < len(text) else None,
    }


def _shape(value: Json, depth: int = 2) -> str:
    """Return the kind of a value in words, with counts, and that of its parts down to `depth`."""
    match value:
        case list():
            first = f" of {_shape(value[0], depth - 1)}" if value and depth else ""
            return f"list, {len(value)}{first}"
        case dict():
            names = list(value)[:_MOST_STEPS]
            parts = [
                f"{cut(printable(name), _MOST_NAME)}: {_shape(value[name], depth - 1)}"
                if depth
                else cut(printable(name), _MOST_NAME)
                for name in names
            ]
            more = ", …" if len(value) > len(names) else ""
            return f"object {{{', '.join(parts)}{more}}}"
        case str():
            return f"text, {len(value)} characters"
        case bool():
            return "boolean"
        case None:
            return "null"
        case _:
            return "number"


def entry_report(entry: RunEntry) -> Json:
    """Return one entry of the list of runs."""
    return {
        "run": entry.run,
        "created_at": datetime.fromtimestamp(entry.created_at, UTC).isoformat(),
        "status": entry.status.value,
        "is_left": entry.is_left,
        "digest": entry.digest,
        "question": entry.question,
        "tools": entry.tools,
    }


def help_(run: Run) -> str | None:
    """Return what to do about a run that is not over; None if there is nothing to do."""
    short = run.run[:SHORT]
    match run.status:
        case RunState.RUNNING:
            return f"`runs` with run {short!r} shows its progress."
        case RunState.CANCELLED:
            return f"`resume` with run {short!r} continues it."
        case RunState.WAITING:
            steps = [*dict.fromkeys(each.step for each in run.waiting)]
            return values_help(short, steps) if steps else approval_help(short)
        case RunState.IN_DOUBT:
            return _doubt_help(run, short)
        case RunState.FAILED:
            return _failed_help(run)
        case RunState.SUCCEEDED:
            return None


def approval_help(run: str) -> str:
    """Return how a person approves the waiting `run`, having seen its effects."""
    return (
        "A model cannot approve. A person does in the studio, or in a terminal, where this command"
        f" shows the effects, and asks: {terminal_command('resume', run)}\n{_afterwards(run)}"
    )


def values_help(run: str, steps: Sequence[str]) -> str:
    """Return how a person decides about the calls of `steps` that wait with their values."""
    shown = ", ".join(steps[:_MOST_STEPS])
    return (
        f"Calls of {shown} wait with their values (`calls_waiting` of each step), and a model"
        " cannot approve them. A person decides in the studio, or in a terminal, where this command"
        f" shows each call, and asks: {terminal_command('resume', run)}\n{_afterwards(run)}"
    )


def _afterwards(run: str) -> str:
    return (
        f"Then `runs` with run {run!r} has the result; `resume` with `wait_s` waits for the person."
    )


def _failed_help(run: Run) -> str:
    """Name the failed and the completed steps, and warn that a new plan repeats their calls."""
    failed, done = (
        ", ".join([name for name, step in run.steps.items() if step.state is state][:_MOST_STEPS])
        for state in (StepState.FAILED, StepState.SUCCEEDED)
    )
    cause = f"Failed: {failed}." if failed else "No step failed."
    known = f" Done: {done} (`outputs` returns their results)." if done else ""
    return (
        f"{cause}{known} A corrected plan makes all its calls again: leave out those with effects"
        " that were made, also by items of a step that failed."
    )


def _doubt_help(run: Run, short: str) -> str:
    calls = [
        (name if each.item is None else f"{name}:{each.item}", call_text(each))
        for name, step in run.steps.items()
        for each in step.doubts
    ]
    shown = ", ".join(f"{place} {text}" for place, text in calls)
    if len(shown) > _MOST_SHOWN:
        shown = ", ".join(place for place, _ in calls) + " (`calls_in_doubt` of each step)"
    first = calls[0][0] if calls else "STEP"
    return (
        f"It is unknown whether these calls had their effects: {shown}. A person decides, in a "
        f"terminal: {terminal_command('resume', short)} --retry {first} (repeat it), "
        f"--resolve {first}=JSON (it succeeded, with this result) or --abort {first} (it failed)."
    )
