"""A row as text in the dialect of its source, or as canonical JSON where the source has none."""

from __future__ import annotations

import json
from typing import NamedTuple

from benchmarks.plans.rows import Fields, Row
from toolplan.plan.canonical import STEP_ID, dump
from toolplan.plan.model import Literal, Plan, Step, Value


class RowText(NamedTuple):
    """A text, and the name of the dialect that it is written in."""

    dialect: str
    text: str


JOIN = "join"
"""What closes a plan of LLMCompiler; it looks like a call, and calls nothing."""


def calls_of(row: Row) -> list[Fields]:
    """Return the steps of `row` that call a tool."""
    steps = row.steps
    if row.fields["dialect"] == "llmcompiler" and steps and steps[-1]["tool"] == JOIN:
        return steps[:-1]
    return steps


def text_of(row: Row) -> RowText | None:
    """Return the text of `row`; None where its steps name no tools: it is no plan of calls."""
    match row.fields["dialect"]:
        case "nestful":
            return RowText("nestful", _written(_nestful(row)))
        case "sealtools":
            return RowText("sealtools", _written([_seal_call(step) for step in row.steps]))
        case "taskbench":
            return RowText("taskbench", _written(_taskbench(row)))
        case "llmcompiler" | "rewoo" as dialect:
            return RowText(dialect, row.fields["raw"])
        case "worfbench":
            return None
        case _ if row.has_placeholders or any("raw_arguments" in step for step in row.steps):
            return RowText("toolplan", _as_it_stands(row))
        case _:
            return RowText("toolplan", _written(dump(literal_plan(row))))


def literal_plan(row: Row) -> Plan:
    """Return the plan of `row` with every argument as a literal, whatever it looks like."""
    ids = step_ids(row)
    steps: list[Step] = []
    for name, step in zip(ids, row.steps, strict=True):
        given: Fields = step["arguments"]
        args: dict[str, Value] = {key: Literal(value) for key, value in given.items()}
        steps.append(Step(name, step["tool"], args))
    return Plan(tuple(steps))


def _as_it_stands(row: Row) -> str:
    """Return the canonical form of `row` with no text escaped, and what is no JSON as it is."""
    members = [
        f'{{"id": {_written(name)}, "tool": {_written(step["tool"])}, "args": {_raw_args(step)}}}'
        for name, step in zip(step_ids(row), row.steps, strict=True)
    ]
    return f'{{"toolplan": 1, "steps": [{", ".join(members)}]}}'


def _raw_args(step: Fields) -> str:
    # where a placeholder is all that is wrong, the row has the arguments with it in quotes
    return _written(step["arguments"]) if step["arguments"] else step.get("raw_arguments", "{}")


def step_ids(row: Row) -> list[str]:
    """Return the ids of the steps: the row's own where all are well formed, else by position."""
    own = [str(step["id"]) for step in row.steps]
    if all(map(STEP_ID.fullmatch, own)) and len(set(own)) == len(own):
        return own
    return [f"s{at}" for at in range(len(own))]


def _nestful(row: Row) -> list[Fields]:
    calls: list[Fields] = [
        {"name": step["tool"], "arguments": step["arguments"], "label": step["id"]}
        for step in row.steps
    ]
    if row.fields.get("result"):
        calls.append({"name": "var_result", "arguments": row.fields["result"]})
    return calls


def _seal_call(step: Fields) -> Fields:
    return {
        "api": step["tool"],
        "parameters": step["arguments"],
        "responses": step.get("outputs", []),
    }


def _taskbench(row: Row) -> Fields:
    return {
        "task_steps": row.fields.get("task_steps", []),
        "task_nodes": [
            {"task": step["tool"], "arguments": step["arguments"]} for step in row.steps
        ],
        "task_links": row.fields.get("links", []),
    }


def _written(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)
