"""The feedback that a model gets about a plan that failed.

Nothing in it comes from a tool: what a tool returned, or said when it failed, never reaches the
model that plans.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from toolplan.diagnostics import Diagnostic, Removed
from toolplan.events import Event, StepFailed, StepSucceeded
from toolplan.extras import INSTALL
from toolplan.path import Json
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
    problems = sorted(filter(_blocks, attempt.diagnostics), key=_rank)
    if problems:
        lines = ["This plan does not pass its check:"]
        steps = _steps(attempt.draft)
        shown: set[int] = set()
        for number, each in enumerate(problems[:_MOST], 1):
            lines.append(_problem(number, each, steps, shown))
        if len(problems) > _MOST:
            lines.append(f"... and {len(problems) - _MOST} more.")
    else:
        lines = ["This plan passed its check, but these steps failed when it ran:"]
        failed = _failures(attempt.events)
        lines += [f"- {each}" for each in failed[:_MOST]] or [
            "- none, but the result is not complete"
        ]
        if done := _done(attempt.events):
            lines.append(
                f"These are done: {', '.join(done)}. Keep them unchanged: their results are"
                " used, and they are not called again."
            )
    lines.append(
        "Write the whole plan again with these errors fixed; do not change what is right."
        " The same plan would be refused again."
    )
    return "\n".join(lines)


def _problem(number: int, problem: Diagnostic, steps: Sequence[Json], shown: set[int]) -> str:
    place = problem.pointer or "the plan"
    text = f"{number}. `{problem.code}` at {place}: {problem.message}"
    if problem.help:  # a model installs nothing, and need not know where Python is
        text += f" {problem.help.partition(INSTALL)[0]}".rstrip()
    if example := _EXAMPLES.get(problem.code) or _edited(problem):
        text += f"\n   For example: {example}"
    at = _step_at(problem.pointer)
    if at is not None and at < len(steps) and at not in shown:
        shown.add(at)
        text += f"\n   The step is: {_short(steps[at])}"
    return text


def _blocks(problem: Diagnostic) -> bool:
    return problem.blocks


def _rank(problem: Diagnostic) -> int:
    """Return the rank of a problem: tools come before arguments, arguments before references.

    A wrong reference is often a consequence of a wrong step.
    """
    return next((n for n, codes in enumerate(_ORDER) if problem.code in codes), len(_ORDER) // 2)


def _edited(problem: Diagnostic) -> str:
    """Return what would pass in the place of the problem, where one such value is known."""
    edits = problem.fix.edits if problem.fix is not None else ()
    values = [each for each in edits if not isinstance(each.value, Removed)]
    shown = (f"{e.pointer} is {json.dumps(e.value, ensure_ascii=False)}" for e in values[:2])
    return _short_text("; ".join(shown))


def _step_at(pointer: str) -> int | None:
    parts = pointer.split("/")
    if len(parts) > 2 and parts[1] == "steps" and parts[2].isdecimal():
        return int(parts[2])
    return None


def _steps(draft: Draft) -> list[Json]:
    """Return the steps as they were written; none where the draft is not strict JSON."""
    try:
        document: Json = json.loads(draft.text)
    except (ValueError, RecursionError):
        return []
    steps: Json = document.get("steps") if isinstance(document, dict) else document
    return steps if isinstance(steps, list) else []


def _short(step: Json) -> str:
    return _short_text(json.dumps(step, ensure_ascii=False))


def _short_text(text: str) -> str:
    return text if len(text) <= _LONGEST_STEP else text[:_LONGEST_STEP] + " …"


def _done(events: Sequence[Event]) -> list[str]:
    return [
        repr(event.step)
        for event in events
        if isinstance(event, StepSucceeded) and event.failure is None
    ]


def _failures(events: Sequence[Event]) -> list[str]:
    return [
        f"step {event.step!r}: `{event.failure.code}`"
        for event in events
        if isinstance(event, StepFailed)
    ]
