"""The feedback that a model gets about a plan that failed.

Nothing in it comes from a tool: what a tool returned, or said when it failed, never reaches the
model that plans.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from toolplan.diagnostics import Diagnostic
from toolplan.events import Event, StepFailed, StepSucceeded
from toolplan.path import Json
from toolplan.planners._base import Attempt, Draft

_MOST: Final = 20
_LONGEST_STEP: Final = 1_500


def feedback(attempt: Attempt) -> str:
    """Return the feedback on `attempt`: each problem with its place, its help and its step."""
    problems = [each for each in attempt.diagnostics if each.blocks]
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
    if problem.help:
        text += f" {problem.help}"
    at = _step_at(problem.pointer)
    if at is not None and at < len(steps) and at not in shown:
        shown.add(at)
        text += f"\n   The step is: {_short(steps[at])}"
    return text


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
    text = json.dumps(step, ensure_ascii=False)
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
