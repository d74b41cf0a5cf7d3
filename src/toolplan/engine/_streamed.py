"""Runs of plans that are still being written: steps that only read start when they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Protocol, cast, runtime_checkable

from toolplan.base.errors import ToolplanError
from toolplan.engine._execution import Execution
from toolplan.engine._runs import RunApproval, finish, frozen, new_scheduler, record_of
from toolplan.engine._steps import Scheduler
from toolplan.events import PlanSettled, Run, RunStarted, StepArrived
from toolplan.plan.model import Step, needs
from toolplan.policy.execution_plan import ExecutionPlan


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
    """Run the plan of `stream`; see `toolplan.engine.local.run_stream`."""
    given = cast("object", stream)
    if not isinstance(given, AsyncIterable) or isinstance(given, AsyncGenerator):
        raise _no_stream(cast("object", given))
    recorder = execution.recorder
    scheduler = new_scheduler(execution)
    recorder.add(RunStarted(execution.name, "", (), execution.clock()))
    feeding = asyncio.get_running_loop().create_task(_feed(stream, execution, scheduler))
    try:
        await scheduler.run()
    except StreamRefused as refused:
        refused.run = recorder.run()
        raise
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        await finish(execution, scheduler)
    return recorder.run()


def _no_stream(given: object) -> TypeError:
    return TypeError(
        "run_stream takes a stream of steps, as toolplan.compile_stream(chunks, tools=tools) makes"
        f" it of text; it was given {type(given).__name__!r}."
    )


async def _feed(stream: StepStream, execution: Execution, scheduler: Scheduler) -> None:
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
        await _complete(stream.compiled.plan, arrived, execution, scheduler)
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
) -> None:
    """Admit the steps of `plan` that have not arrived, and start those with effects.

    The run is then in the journal.
    """
    if plan is None:
        raise StreamRefused("The plan does not pass the check; what had started was cancelled.")
    steps = {step.id: step for step in plan.plan.steps}
    other = [name for name, step in arrived.items() if steps.get(name) != step]
    if other:
        names = ", ".join(map(repr, other))
        raise StreamRefused(f"These steps were given, and are not in the plan: {names}.")
    runnable, recorder = frozen(plan, execution.tools), execution.recorder
    rest = [step for step in runnable.plan.plan.steps if step.id not in arrived]
    # what has started only reads, and no argument of it is looked at
    if (failure := scheduler.flow_checks.plan_is(runnable.plan)) is not None:
        raise StreamRefused(failure.message)
    scheduler.admit(rest, needs, hold_effects=True)
    recorder.add(PlanSettled(runnable.plan.digest, tuple(steps), execution.clock()))
    approval = RunApproval(execution, runnable, scheduler)
    approval.record()
    if recorder.is_journaled:
        record = record_of(runnable.plan, execution.tools)
        await recorder.accept(execution.name, runnable.plan.digest, record)
    if approval.must_ask:
        await approval.ask()
    scheduler.complete(runnable.plan.plan.output)
    scheduler.allow(approval.slots)
    scheduler.start()
