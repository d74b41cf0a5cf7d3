"""What a run has done, told in a STATE: a fold of the run into its tasks (F001-11, F001-13)."""

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
    # not of the source: a task that never started has not failed (C-25)
    StepState.SKIPPED: "skipped",
}


STARTED: Final = "started"
"""What the trace says of a task whose agent has begun."""


def state_of(state: Mapping[str, Json], run: Run | Iterable[Event]) -> dict[str, Json]:
    """Return a copy of `state` in which its tasks stand as `run` has them.

    A task has the `status` and the `outputs` of the step with its id; tasks that the run does not
    know stay as they are. One that did not succeed has `{"error": {"code", "message"}}` as its
    outputs, and is told in `trace.state_deltas`; agents that have started are told in
    `trace.node_run_order`. Folding a run into what it gave before changes nothing more.

    Raises:
        StateError: there are no tasks in `state`.
    """
    done = run if isinstance(run, Run) else fold(run)
    copy = {key: copied(value) for key, value in state.items()}
    plan = copy.get("plan")
    tasks = plan.get("tasks") if isinstance(plan, dict) else None
    if not isinstance(plan, dict) or not isinstance(tasks, list):
        raise StateError("/plan/tasks: There are no tasks; plan them first.")
    told = [_told(task, done) for task in tasks]
    copy["plan"] = {**plan, "tasks": told}
    copy["trace"] = _trace(copy.get("trace"), told, done)
    return copy


def _told(task: Json, run: Run) -> Json:
    step = run.steps.get(_id(task))
    if step is None or not isinstance(task, dict):
        return task
    if step.error is not None and step.state is StepState.SUCCEEDED:
        # an optional agent that failed: the run went on without what it would have given
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
    return {"code": failure.code, "message": failure.message}


def _trace(trace: Json, tasks: list[Json], run: Run) -> dict[str, Json]:
    """Return `trace` with the agents that started, in that order, and every failure; each once."""
    before = traced(trace, [], [])
    known = before["state_deltas"]
    told = known if isinstance(known, list) else []
    deltas = [each for each in (*_starts(tasks, run), *_failures(tasks, run)) if each not in told]
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


def _failures(tasks: list[Json], run: Run) -> list[dict[str, Json]]:
    return [
        {**_delta(task, run, task["status"]), "error": outputs["error"]}
        for task in tasks
        if isinstance(task, dict)
        and task.get("status") in ("failed", "skipped")
        and isinstance(outputs := task.get("outputs"), dict)
        and "error" in outputs
    ]


def _delta(task: dict[str, Json], run: Run, status: Json) -> dict[str, Json]:
    return {"node": task.get("owner"), "task": _id(task), "run": run.run, "status": status}


def _id(task: Json) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return name if isinstance(name, str) else ""
