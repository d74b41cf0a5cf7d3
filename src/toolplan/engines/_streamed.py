"""Runs of plans that are still being written: steps that only read start when they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Protocol, cast, runtime_checkable

from toolplan.approval import approve
from toolplan.engines._runs import (
    Execution,
    Runnable,
    ask,
    finish,
    frozen,
    granted_approval,
    new_scheduler,
    record_approval,
    record_of,
    stage_now,
    staged,
)
from toolplan.engines._staged import Stage
from toolplan.engines._steps import Scheduler
from toolplan.errors import ToolplanError
from toolplan.events import PlanSettled, Run, RunStarted, StepArrived
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Step, needs
from toolplan.storage.journal import Recovered


class CompleteStream(Protocol):
    """The result of a stream that has ended."""

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan, or None if it has errors."""
        ...


class StepStream(Protocol):
    """The steps of a plan as they are written, and the plan at the end; see `compile_stream`."""

    def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete; the iterator may be `Closable`."""
        ...

    @property
    def compiled(self) -> CompleteStream:
        """The result, read after the last step."""
        ...


@runtime_checkable
class Closable(Protocol):
    """An iterator that can be closed early, as an asynchronous generator can."""

    async def aclose(self) -> None:
        """Yield nothing more."""


class StreamRefused(ToolplanError):
    """A streamed plan cannot be run; the steps that had started were cancelled.

    Attributes:
        run: the state of the run at that moment.
    """

    def __init__(self, message: str) -> None:
        super().__init__("stream-refused", message)
        self.run = Run()


async def start_stream(stream: StepStream, execution: Execution) -> Run:
    """Run the plan of `stream`; see `toolplan.engines.local.run_stream`."""
    given = cast("object", stream)
    if not isinstance(given, AsyncIterable) or isinstance(given, AsyncGenerator):
        raise _no_stream(cast("object", given))
    recorder = execution.recorder
    scheduler = new_scheduler(execution, Recovered())
    recorder.add(RunStarted(execution.name, "", (), execution.clock()))
    stages: list[Stage] = []  # as soon as there is one
    feeding = asyncio.get_running_loop().create_task(_feed(stream, execution, scheduler, stages))
    try:
        await scheduler.run()
    except StreamRefused as refused:
        refused.run = recorder.run()
        raise
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        await finish(execution, scheduler, *stages)
    return recorder.run()


def _no_stream(given: object) -> TypeError:
    return TypeError(
        "run_stream takes a stream of steps, as toolplan.compile_stream(chunks, tools=tools) makes"
        f" it of text; it was given {type(given).__name__!r}."
    )


async def _feed(
    stream: StepStream, execution: Execution, scheduler: Scheduler, stages: list[Stage]
) -> None:
    """Admit the steps of `stream`, then the rest of the plan; an error ends the run."""
    arrived: dict[str, Step] = {}
    steps = aiter(stream)
    try:
        async for step in steps:
            if not isinstance(cast("object", step), Step):
                raise _no_stream(step)
            if step.id in arrived:
                raise StreamRefused(f"The step {step.id!r} was given twice.")
            arrived[step.id] = step
            scheduler.admit([step], needs, hold_effects=True)
            execution.recorder.add(StepArrived(step.id, execution.clock()))
            scheduler.start()
        await _complete(stream.compiled.plan, arrived, execution, scheduler, stages)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # the caller of the run gets it
        scheduler.ending.abandon(error)
    finally:
        if isinstance(steps, Closable):
            await steps.aclose()


async def _complete(
    plan: ExecutionPlan | None,
    arrived: Mapping[str, Step],
    execution: Execution,
    scheduler: Scheduler,
    stages: list[Stage],
) -> None:
    """Admit the steps of `plan` that have not arrived, and start those with effects."""
    if plan is None:
        raise StreamRefused("The plan does not pass the check; what had started was cancelled.")
    steps = {step.id: step for step in plan.plan.steps}
    other = [name for name, step in arrived.items() if steps.get(name) != step]
    if other:
        names = ", ".join(map(repr, other))
        raise StreamRefused(f"These steps were given, and are not in the plan: {names}.")
    runnable = frozen(plan, execution.tools)
    rest = [step for step in runnable.plan.plan.steps if step.id not in arrived]
    # what has started only reads, and no argument of it is looked at
    if (failure := scheduler.flow_checks.plan_is(runnable.plan)) is not None:
        raise StreamRefused(failure.message)
    scheduler.admit(rest, needs, hold_effects=True)
    execution.recorder.add(PlanSettled(runnable.plan.digest, tuple(steps), execution.clock()))
    stage = staged(execution, runnable, scheduler)
    stages += [] if stage is None else [stage]
    slots = await _slots(execution, runnable, stage, scheduler, stages)
    scheduler.complete(runnable.plan.plan.output)
    scheduler.allow(slots)
    scheduler.start()


async def _slots(
    execution: Execution,
    runnable: Runnable,
    stage: Stage | None,
    scheduler: Scheduler,
    stages: list[Stage],
) -> Mapping[str, int]:
    """Return the slots of the plan's approval; the run is then in the journal.

    Raises:
        ApprovalRequired: there is none.
    """
    granted = granted_approval(execution, runnable)
    must_ask = record_approval(execution, runnable, granted, stage)
    if execution.recorder.is_journaled:
        record = record_of(runnable.plan, execution.tools)
        await execution.recorder.accept(execution.name, runnable.plan.digest, record)
    if must_ask:
        granted = await ask(execution, runnable)
        stage = None if granted is not None else stage_now(execution, runnable, scheduler)
        stages += [] if stage is None else [stage]
    if stage is not None:
        return approve(runnable.plan).slots
    return {} if granted is None else granted.slots
