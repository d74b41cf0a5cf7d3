"""What the tests of the engine have in common."""

import asyncio
from typing import Any

from tests.plans_strategy import execution_plan
from toolplan import approve, run
from toolplan.events import Run, StepState
from toolplan.plan.model import Literal, Plan, Step, Value
from toolplan.testing import Outcome, RecordingSink, ScriptedTools


def scripted(**outcomes: Outcome | tuple[Outcome, ...] | None) -> ScriptedTools:
    """Return tools by name, each with its outcomes; with None it returns its arguments."""
    tools = ScriptedTools()
    for name, given in outcomes.items():
        if given is None:
            tools.add(name)
        else:
            tools.add(name, *(given if isinstance(given, tuple) else (given,)))
    return tools


def ran(
    tools: ScriptedTools,
    *steps: Step,
    output: Value | None = None,
    backoff_s: float = 0.0,
    **options: Any,
) -> tuple[Run, RecordingSink]:
    """Run `steps` to their end, with approval for all their effects."""
    sink = RecordingSink()
    plan = execution_plan(Plan(steps, output), tools.toolbox)
    approval = approve(plan) if plan.effects else None
    running = run(
        plan, tools.toolbox, approval=approval, on_event=sink, backoff_s=backoff_s, **options
    )
    done = asyncio.run(running)
    return done, sink


def started(
    tools: ScriptedTools, *steps: Step, **options: Any
) -> tuple[asyncio.Task[Run], RecordingSink]:
    """Set the run of `steps` going."""
    sink = RecordingSink()
    plan = execution_plan(Plan(steps), tools.toolbox)
    approval = approve(plan) if plan.effects else None
    running = run(plan, tools.toolbox, approval=approval, on_event=sink, **options)
    task = asyncio.ensure_future(running)
    return task, sink


def zeros(count: int) -> Literal:
    """Return a list to make `count` calls for."""
    return Literal([0 for _ in range(count)])


def states(done: Run) -> dict[str, StepState]:
    """Return the state of each step."""
    return {name: step.state for name, step in done.steps.items()}


def codes(done: Run) -> dict[str, str]:
    """Return the code of each step that has an error."""
    return {name: step.error.code for name, step in done.steps.items() if step.error is not None}
