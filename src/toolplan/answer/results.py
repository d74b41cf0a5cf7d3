"""The results of a plan: the values of its output, each with its step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from toolplan.events import Run, StepState
from toolplan.path import Json, NotThere, Path, select
from toolplan.plan import Array, Literal, Object, Plan, Ref, Value, refs, sinks


class Result(Struct, frozen=True):
    """A value of the plan's output.

    It is at `path` in the output of `step`; `name` is its key in the plan's output, or empty.
    """

    step: str
    path: Path
    value: Json
    name: str = ""


def results_of(plan: Plan, run: Run) -> tuple[Result, ...]:
    """Return the results of `plan` in order, without those of steps that have no output.

    They are the values of the plan's `output`, or the outputs of the steps that no other refers to.
    """
    if plan.output is None:
        return tuple(
            Result(step, (), run.steps[step].output) for step in sinks(plan) if _gave(run, step)
        )
    return tuple(_named(plan.output, run.output, run, ""))


def result_steps(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the steps of the results, each once."""
    if plan.output is None:
        return sinks(plan)
    return tuple(dict.fromkeys(ref.step for ref in refs(plan.output)))


def _named(value: Value, output: Json, run: Run, name: str) -> Iterator[Result]:
    """Yield the results of `value`; `output` is its value in the run."""
    match value:
        case Literal():
            return  # a constant of the plan is not a result
        case Ref(step, path):
            if _gave(run, step):
                try:
                    yield Result(step, path, select(run.steps[step].output, path), name)
                except NotThere:
                    return  # the run has failed for this reason
        case Object(fields):
            given: Mapping[str, Json] = output if isinstance(output, dict) else {}
            for key, inner in fields:
                yield from _named(inner, given.get(key), run, key)
        case Array(items):
            listed = output if isinstance(output, list) else []
            for at, item in enumerate(items):
                yield from _named(item, listed[at] if at < len(listed) else None, run, name)
        case _:
            steps = dict.fromkeys(ref.step for ref in refs(value))
            if output is not None:
                yield Result(", ".join(steps), (), output, name)


def _gave(run: Run, step: str) -> bool:
    return step in run.steps and run.steps[step].state is StepState.SUCCEEDED
