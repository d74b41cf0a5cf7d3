"""The feedback that a model gets about a plan that failed.

Nothing in it comes from a tool: what a tool returned, or said when it failed, never reaches the
model that plans.
"""

from __future__ import annotations

import json
from typing import Final

from toolplan.base.extras import INSTALL
from toolplan.events import StepFailed, StepSucceeded
from toolplan.plan.diagnostics import Diagnostic, Removed
from toolplan.plan.path import Json
from toolplan.planners._base import Attempt, Draft

_MOST: Final = 20
_LONGEST_STEP: Final = 1_500
_ORDER: Final = (
    frozenset(("syntax", "unknown-field", "missing-field", "field-type", "duplicate-id", "bad-id")),
    frozenset(("unknown-tool", "tool-not-allowed")),
    frozenset(("unknown-step", "unknown-argument", "missing-argument", "reference-syntax")),
    frozenset(("unknown-output", "reference-type", "list-into-scalar", "not-a-list", "cycle")),
)
"""Codes by what is fixed first; others stand in the middle."""
_EXAMPLES: Final = {
    "list-into-scalar": '"for_each": "${a.rows[*].id}", "args": {"id": "${item}"}',
    "item-outside-for-each": '"for_each": "${a.rows}", "args": {"id": "${item.id}"}',
    "not-a-list": '"for_each": "${a.rows}" where step "a" has the list "rows" in its result',
    "reference-syntax": '"${a.rows[0].id}"',
    "unknown-step": '{"id": "a", ...} before {"id": "b", ..., "args": {"x": "${a.x}"}}',
}
"""The smallest right form for a fault, whatever the tools."""


def feedback(attempt: Attempt) -> str:
    """Return the feedback on `attempt`: each problem with its place, its help and its step."""
    problems = sorted((each for each in attempt.diagnostics if each.blocks), key=_rank)
    if problems:
        lines = ["This plan does not pass its check:"]
        steps = steps_of(attempt.draft)
        for number, each in enumerate(problems[:_MOST], 1):
            lines.append(f"{number}. {_problem(each)}")
            at = step_at(each.pointer)
            if at in steps:  # each step is shown once
                lines.append(f"   The step is: {_cut(_json(steps.pop(at)))}")
        if len(problems) > _MOST:
            lines.append(f"... and {len(problems) - _MOST} more.")
    else:
        lines = ["This plan passed its check, but these steps failed when it ran:"]
        failed = [each for each in attempt.events if isinstance(each, StepFailed)]
        lines += [f"- step {each.step!r}: `{each.failure.code}`" for each in failed[:_MOST]]
        if not failed:
            lines.append("- none, but the result is not complete")
        succeeded = (each for each in attempt.events if isinstance(each, StepSucceeded))
        if done := [repr(each.step) for each in succeeded if each.failure is None]:
            lines.append(
                f"These are done: {', '.join(done)}. Keep them unchanged: their results are"
                " used, and they are not called again."
            )
    lines.append(
        "Write the whole plan again with these errors fixed; do not change what is right."
        " The same plan would be refused again."
    )
    return "\n".join(lines)


def _problem(problem: Diagnostic) -> str:
    text = f"`{problem.code}` at {problem.pointer or 'the plan'}: {problem.message}"
    if problem.help:  # a model installs nothing, and need not know where Python is
        text += f" {problem.help.partition(INSTALL)[0]}".rstrip()
    example = _EXAMPLES.get(problem.code) or _edited(problem)
    return f"{text}\n   For example: {example}" if example else text


def _rank(problem: Diagnostic) -> int:
    """Return the rank of a problem: tools come before arguments, arguments before references.

    A wrong reference is often a consequence of a wrong step.
    """
    return next((n for n, codes in enumerate(_ORDER) if problem.code in codes), len(_ORDER) // 2)


def _edited(problem: Diagnostic) -> str:
    """Return a value that would pass at the place of the problem, if one is known."""
    edits = problem.fix.edits if problem.fix is not None else ()
    values = [each for each in edits if not isinstance(each.value, Removed)]
    return _cut("; ".join(f"{e.pointer} is {_json(e.value)}" for e in values[:2]))


def step_at(pointer: str) -> int:
    """Return the number of the step that `pointer` is in, -1 if it is in none."""
    parts = pointer.split("/")
    is_in_step = len(parts) > 2 and parts[1] == "steps" and parts[2].isdecimal()
    return int(parts[2]) if is_in_step else -1


def steps_of(draft: Draft) -> dict[int, Json]:
    """Return the steps as they were written; none where the draft is not strict JSON."""
    try:
        document: Json = json.loads(draft.text)
    except (ValueError, RecursionError):
        return {}
    steps: Json = document.get("steps") if isinstance(document, dict) else document
    return dict(enumerate(steps)) if isinstance(steps, list) else {}


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_STEP else text[:_LONGEST_STEP] + " …"
