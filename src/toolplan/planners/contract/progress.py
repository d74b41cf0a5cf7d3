"""The results of a run in the tasks of a STATE (F001-11, F001-13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolplan.events import Event, Failure, Run, StepRun, StepState, fold
from toolplan.path import Json, copied
from toolplan.planners.contract.state import StateError, traced

STATUS: Final[Mapping[StepState, str]] = {
    StepState.PENDING: "pending",
    StepState.RUNNING: "in_progress",
    StepState.WAITING: "in_progress",
    StepState.IN_DOUBT: "in_progress",
    StepState.SUCCEEDED: "completed",
    StepState.FAILED: "failed",
    StepState.CANCELLED: "failed",
    # a task that never started has not failed (C-25)
    StepState.SKIPPED: "skipped",
}


STARTED: Final = "started"
"""The status in the trace of a task that has started."""


def state_of(state: Mapping[str, Json], run: Run | Iterable[Event]) -> dict[str, Json]:
    """Return a copy of `state` with the results of `run` in its tasks.

    A task gets the `status` and the `outputs` of the step with its id; other tasks stay as they
    are. The outputs of a failed task are `{"error": {"code", "message", "pointer"?}}`. The paths
    that were written, and failures, are appended to `trace.state_deltas`, started agents to
    `trace.node_run_order`, each once.

    Raises:
        StateError: `state` has no tasks.
    """
    done = run if isinstance(run, Run) else fold(run)
    copy = {key: copied(value) for key, value in state.items()}
    plan = copy.get("plan")
    tasks = plan.get("tasks") if isinstance(plan, dict) else None
    if not isinstance(plan, dict) or not isinstance(tasks, list):
        raise StateError("/plan/tasks: The STATE has no tasks; plan them first.")
    tasks = [_with_result(task, done) for task in tasks]
    copy["plan"] = {**plan, "tasks": tasks}
    copy["trace"] = _trace(copy.get("trace"), tasks, done)
    return copy


def _with_result(task: Json, run: Run) -> Json:
    step = run.steps.get(_id(task))
    if step is None or not isinstance(task, dict):
        return task
    if step.error is not None and step.state is StepState.SUCCEEDED:
        # an optional agent that failed: the run continued without its outputs
        return {**task, "status": "failed", "outputs": {"error": _error(step.error)}}
    return {**task, "status": STATUS[step.state], "outputs": _outputs(step)}


def _outputs(step: StepRun) -> dict[str, Json]:
    if step.error is not None:
        return {"error": _error(step.error)}
    if step.state is not StepState.SUCCEEDED:
        return {}
    output = copied(step.output)
    return output if isinstance(output, dict) else {"result": output}


def _error(failure: Failure) -> Json:
    error: dict[str, Json] = {"code": failure.code, "message": failure.message}
    return {**error, "pointer": failure.pointer} if failure.pointer else error


def _trace(trace: Json, tasks: list[Json], run: Run) -> dict[str, Json]:
    """Return `trace` with the agents that started and every failure, each once."""
    before = traced(trace, [], [])
    known = before["state_deltas"]
    noted = known if isinstance(known, list) else []
    deltas = [each for each in (*_starts(tasks, run), *_ends(tasks, run)) if each not in noted]
    nodes = [each["node"] for each in deltas if each["status"] == STARTED]
    return traced(before, nodes, [*deltas])


def _starts(tasks: list[Json], run: Run) -> list[dict[str, Json]]:
    begun = [
        (step.started_at, task)
        for task in tasks
        if isinstance(task, dict)
        and (step := run.steps.get(_id(task))) is not None
        and step.started_at is not None
    ]
    return [_delta(task, run, STARTED) for _, task in sorted(begun, key=lambda each: each[0])]


def _ends(tasks: list[Json], run: Run) -> list[dict[str, Json]]:
    """Return what was written into each task that is over, and its error."""
    found: list[dict[str, Json]] = []
    for at, task in enumerate(tasks):
        if not isinstance(task, dict) or _id(task) not in run.steps:
            continue
        outputs = task.get("outputs")
        if task.get("status") in ("completed", "failed", "skipped") and isinstance(outputs, dict):
            place = f"plan.tasks[{at}]"
            paths = [f"{place}.status", *(f"{place}.outputs.{name}" for name in outputs)]
            delta = _delta(task, run, task["status"])
            delta["wrote"] = [*paths]
            if "error" in outputs:
                delta["error"] = outputs["error"]
            found.append(delta)
    return found


def _delta(task: dict[str, Json], run: Run, status: Json) -> dict[str, Json]:
    return {"node": task.get("owner"), "task": _id(task), "run": run.run, "status": status}


def _id(task: Json) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return name if isinstance(name, str) else ""
