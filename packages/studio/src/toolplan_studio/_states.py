"""The states of runs and steps as the page shows them, each with a sentence.

The journal keeps the last state that was written. A step is `running` in it after its process has
died, and `pending` after its run has ended: the page must not show either as it stands.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolplan.app.workers import Placed
from toolplan_studio._run_wire import RunState, ShownStepState
from toolplan_studio._wire import StepStatus

STEP_NOTES: Final[dict[ShownStepState, str]] = {
    "pending": "It has not started yet.",
    "running": "It is being run.",
    "succeeded": "It has succeeded.",
    "failed": "It has failed.",
    "skipped": "It was skipped: its condition did not hold, or a step before it did not succeed.",
    "cancelled": "It was cancelled before it was done.",
    "waiting": "Its calls wait until a person has seen their values.",
    "in_doubt": "It is not known whether one of its calls took effect.",
    "interrupted": "It had started, but no process works on it now.",
    "not_run": "The run stopped before this step started.",
}
"""A sentence for each state of a step."""

_RUN_NOTES: Final[dict[RunState, str]] = {
    "running": "A process runs it.",
    "waiting": "It waits until a person has approved it.",
    "in_doubt": "It waits until a person has decided about calls whose outcome is not known.",
    "succeeded": "It has succeeded.",
    "failed": "It has failed.",
    "cancelled": "It was cancelled.",
    "refused": "A person refused this run: its calls that change something were not made.",
    "interrupted": "No process works on this run, so nothing happens to it.",
    "no_worker": "No worker for it is running, so nothing happens to it.",
    "parked": "The workers have parked it after repeated failures.",
}
_ENDED: Final = ("succeeded", "failed", "cancelled", "refused")


def shown_step_state(run: RunState, step: StepStatus) -> ShownStepState:
    """Return the state of a step of a run that has the state `run`.

    Only a step of a running run is running; in a run that has ended, nothing is to come.
    """
    if step == "running" and run != "running":
        return "interrupted"
    if step in ("pending", "waiting") and run in _ENDED:
        return "not_run"
    return step


def run_note(
    state: RunState,
    placed: Placed | None,
    allowed: Collection[str] = (),
    *,
    is_active: bool = False,
) -> str:
    """Describe the state of a run, who continues it, and what a person can do.

    `placed` is its queue, if workers have it; `allowed` are the decisions that the page offers;
    `is_active` says whether this studio works on it.
    """
    if is_active:
        return "This studio runs it."
    note = _RUN_NOTES[state]
    if placed is None or state in ("succeeded", "failed"):
        if state == "interrupted" and "resume" in allowed:
            return f"{note} Resume the run to continue it: what is done is not done again."
        return note
    if state == "parked":
        return f"The workers for {placed.queue} have parked this run: {placed.parked}"
    said = "" if state in ("running", "no_worker") else f"{note} "
    if placed.has_worker:
        return f"{said}Workers for {placed.queue} have it; decisions made here are sent to them."
    toolbox = placed.queue.partition("@")[0]
    return (
        f"{said}No worker for {placed.queue} is running, so nothing happens to this run."
        f" Start `toolplan worker {toolbox}` with the tools that it was planned for."
    )
