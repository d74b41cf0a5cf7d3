"""Plans and runs as a client is told of them, within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from toolplan.answer import InsightFunction, answer
from toolplan.approval import effect_steps
from toolplan.compiler import output_schemas
from toolplan.diagnostics import Diagnostic
from toolplan.diagnostics import to_json as diagnostic_to_json
from toolplan.events import Run, RunState
from toolplan.events import to_json as run_to_json
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan_json import dump
from toolplan.render.approval_view import approval_json
from toolplan.render.runs_view import SHORT
from toolplan.storage.journal import RunEntry
from toolplan.tools import Toolbox

MOST_OUTPUT: Final = 500_000
"""Characters of JSON that are told of one value; a larger one stays in the journal."""

MOST_TOLD: Final = 2_000_000
"""Characters of JSON that are told of all values of one run."""

MOST_DIAGNOSTICS: Final = 200
"""So many diagnostics are told, errors before warnings."""

_MOST_PLACES: Final = 8


def effects_report(plan: ExecutionPlan, tools: Toolbox) -> list[Json]:
    """Return the steps that may change something, with their arguments, whole."""
    told = approval_json(effect_steps(plan, tools), plan.digest)["effects"]
    return told if isinstance(told, list) else []


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
    """Return diagnostics in their wire form; of very many, those that block come first."""
    shown = diagnostics
    if len(diagnostics) > MOST_DIAGNOSTICS:
        shown = sorted(diagnostics, key=lambda each: not each.blocks)[:MOST_DIAGNOSTICS]
    told: dict[str, Json] = {"diagnostics": [diagnostic_to_json(each) for each in shown]}
    if len(shown) < len(diagnostics):
        told["diagnostics_left_out"] = len(diagnostics) - len(shown)
    return told


def run_report(
    run: Run,
    plan: ExecutionPlan | None,
    tools: Toolbox,
    *,
    insights: Sequence[InsightFunction] = (),
    outputs: bool = False,
) -> dict[str, Json]:
    """Return a run: as `toolplan run --json` does, but steps without outputs unless `outputs`.

    `plan` None, where it is not known or passes its check no more, leaves the answer out. Values of
    more than `MOST_OUTPUT` characters are null, and their pointers stand in `omitted`.
    """
    document = run_to_json(run)
    room = _Room()
    document["output"] = room.take("/output", document["output"])
    said: Json = None
    if plan is not None and run.status is not RunState.RUNNING:
        schemas = output_schemas(plan.plan, tools)
        said = room.take("/answer", answer(plan, run, schemas=schemas, insights=insights).to_json())
    steps = document["steps"]
    for name, step in steps.items() if isinstance(steps, dict) else ():
        if isinstance(step, dict) and outputs:
            step["output"] = room.take(f"/steps/{name}/output", step["output"])
        elif isinstance(step, dict):
            del step["output"]
    told: dict[str, Json] = {
        **document,
        "digest": run.digest,
        "answer": said,
        "help": help_(run),
    }
    if room.omitted:
        told["omitted"] = [*room.omitted]
    return told


class _Room:
    """What is told of the values of one run: each within `MOST_OUTPUT`, all within `MOST_TOLD`."""

    def __init__(self) -> None:
        self.omitted: list[str] = []
        self._left = MOST_TOLD

    def take(self, pointer: str, value: Json) -> Json:
        """Return `value` where there is room for it, else null, and note its pointer."""
        size = len(json.dumps(value, ensure_ascii=False))
        if size > min(MOST_OUTPUT, self._left):
            self.omitted.append(pointer)
            return None
        self._left -= size
        return value


def entry_report(entry: RunEntry) -> Json:
    """Return one line of the list of runs."""
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
    """Return what to do about a run that stands still; None where there is nothing to do."""
    short = run.run[:SHORT]
    match run.status:
        case RunState.RUNNING:
            return f"`runs` with run {short!r} tells how it stands."
        case RunState.CANCELLED:
            return f"`resume` with run {short!r} goes on with it."
        case RunState.WAITING:
            return approval_help(short, run.digest)
        case RunState.IN_DOUBT:
            return _doubts(run, short)
        case RunState.SUCCEEDED | RunState.FAILED:
            return None


def approval_help(run: str, digest: str) -> str:
    """Return what a person does who wants the waiting `run` to happen."""
    return (
        "A model cannot approve. A person who has read the effects types, in a terminal: "
        f"toolplan resume {run} --approve {digest}"
    )


def _doubts(run: Run, short: str) -> str:
    places = [
        name if item is None else f"{name}:{item}"
        for name, step in run.steps.items()
        for item in step.in_doubt
    ]
    shown = ", ".join(places[:_MOST_PLACES]) + (" …" if len(places) > _MOST_PLACES else "")
    first = places[0] if places else "STEP"
    return (
        f"Nobody knows whether these calls did their work: {shown}. A person decides, in a "
        f"terminal: toolplan resume {short} --retry {first} (make it again), "
        f"--resolve {first}=JSON (it worked and gave that) or --abort {first} (it failed)."
    )


def plan_text(plan: Json) -> str:
    """Return a plan that came by value as text: text as it is, anything else as JSON.

    Raises:
        RecursionError: it is nested too deep.
    """
    return plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)


def kept_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return what is kept of the metadata of a plan that came from a client: what was asked.

    All else would be read as if this program had noted it; where tools are opened from, for one.
    """
    query = metadata.get("query")
    return {"query": query} if isinstance(query, str) else {}
