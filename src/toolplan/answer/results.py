"""What a plan gives: the values that its output names, each with the step it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from toolplan.events import Run, StepState
from toolplan.path import Json, NotThere, Path, select
from toolplan.plan import Array, Literal, Object, Plan, Ref, Value, refs, sinks


class Result(NamedTuple):
    """A value that the plan gives.

    `step` is where it comes from and `path` the way in that step's output; `name` is what the
    plan's own output calls it, or an empty text.
    """

    step: str
    path: Path
    value: Json
    name: str = ""


def results_of(plan: Plan, run: Run) -> tuple[Result, ...]:
    """Return the values that `plan` gives, in order; those of steps without an output are left out.

    They are the outputs of the steps that nothing refers to, or what the plan's `output` names.
    """
    if plan.output is None:
        return tuple(
            Result(step, (), run.steps[step].output) for step in sinks(plan) if _gave(run, step)
        )
    return tuple(_named(plan.output, run.output, run, ""))


def result_steps(plan: Plan) -> tuple[str, ...]:
    """Return the ids of the steps that the plan's output comes from, each once."""
    if plan.output is None:
        return sinks(plan)
    return tuple(dict.fromkeys(ref.step for ref in refs(plan.output)))


def _named(value: Value, output: Json, run: Run, name: str) -> Iterator[Result]:
    """Yield the results that `value` names; `output` is what the run made of it, if anything."""
    match value:
        case Literal():
            return  # written in the plan: nothing was found out
        case Ref(step, path):
            if _gave(run, step):
                try:
                    yield Result(step, path, select(run.steps[step].output, path), name)
                except NotThere:
                    return  # the engine has said so, as the reason why the run failed
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
