"""Runs of plans that are still being written: what only reads starts as soon as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Protocol, cast, runtime_checkable

from toolplan.approval import Approval, ApprovalRequired, Approver
from toolplan.engines._recorder import EventRecorder
from toolplan.engines._runs import (
    Runnable,
    Settings,
    ask,
    checked,
    frozen,
    new_scheduler,
    record_of,
)
from toolplan.engines._steps import Scheduler
from toolplan.events import (
    PlanSettled,
    Run,
    RunApproved,
    RunStarted,
    RunWaiting,
    StepArrived,
)
from toolplan.execution_plan import ExecutionPlan
from toolplan.plan import Step, needs
from toolplan.storage.journal import Recovered
from toolplan.tools import Tool


class WholePlan(Protocol):
    """What came of all that was written."""

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan, or None where something is wrong with it."""
        ...


class StepStream(Protocol):
    """Steps of a plan as they are written, and the plan itself in the end.

    `compile_stream` gives such a stream.
    """

    def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete; what it gives may be `Closing`."""
        ...

    @property
    def compiled(self) -> WholePlan:
        """What came of the whole; it is asked for when the steps are at their end."""
        ...


@runtime_checkable
class Closing(Protocol):
    """What can be told that nobody listens any more, as an asynchronous generator can."""

    async def aclose(self) -> None:
        """Return nothing more."""
        ...


class StreamRefused(Exception):
    """A plan that was being written cannot be run; what of it had started was cancelled.

    Attributes:
        run: how far it had come.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.run = Run()


async def start_stream(
    stream: StepStream,
    tools: Mapping[str, Tool],
    name: str,
    kept: EventRecorder,
    approval: Approval | Approver | None,
    settings: Settings,
) -> Run:
    """Run what `stream` gives, under `name`; see `toolplan.engines.local.run_stream`."""
    _check(stream)
    scheduler = new_scheduler(name, tools, kept, settings, Recovered())
    feed = _Feed(stream, tools, name, kept, approval, settings, scheduler)
    kept.add(RunStarted(name, "", (), settings.clock()))
    feeding = asyncio.get_running_loop().create_task(feed.run())
    try:
        await scheduler.run()
    except StreamRefused as refused:
        refused.run = kept.run()
        raise
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        await kept.finish(scheduler.durations)
    return kept.run()


def _check(stream: object) -> None:
    """See that `stream` can give steps and a plan, before anything waits for them.

    Raises:
        TypeError: it cannot; a generator has no `compiled`, whatever it gives.
    """
    if not isinstance(stream, AsyncIterable) or isinstance(stream, AsyncGenerator):
        raise _no_steps(cast("object", stream))


def _check_step(given: object) -> None:
    if not isinstance(given, Step):
        raise _no_steps(given)


def _no_steps(given: object) -> TypeError:
    return TypeError(
        "run_stream takes a stream of steps, as toolplan.compile_stream(chunks, tools=tools) makes"
        f" it of text; it was given {type(given).__name__!r}."
    )


class _Feed:
    """Hands the steps of a stream to the scheduler, and at its end the rest of the plan."""

    def __init__(
        self,
        stream: StepStream,
        tools: Mapping[str, Tool],
        name: str,
        kept: EventRecorder,
        approval: Approval | Approver | None,
        settings: Settings,
        scheduler: Scheduler,
    ) -> None:
        self._stream = stream
        self._tools = tools
        self._name = name
        self._kept = kept
        self._approval = approval
        self._clock = settings.clock
        self._scheduler = scheduler
        self._given: dict[str, Step] = {}

    async def run(self) -> None:
        """Feed the scheduler; whatever goes wrong ends the run."""
        steps = aiter(self._stream)
        try:
            async for step in steps:
                _check_step(step)
                if step.id in self._given:
                    raise StreamRefused(f"The step {step.id!r} was given twice.")
                self._given[step.id] = step
                self._admit([step])
                self._kept.add(StepArrived(step.id, self._clock()))
                self._scheduler.start()
            await self._end()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # whoever waits for the run gets it
            self._scheduler.abandon(error)
        finally:
            if isinstance(steps, Closing):  # who still writes need not go on
                await steps.aclose()

    def _admit(self, steps: list[Step]) -> None:
        self._scheduler.admit(steps, needs, hold_effects=True)

    async def _end(self) -> None:
        plan = self._stream.compiled.plan
        if plan is None:
            raise StreamRefused("The plan does not pass the check; what had started was cancelled.")
        steps = {step.id: step for step in plan.plan.steps}
        other = [name for name, step in self._given.items() if steps.get(name) != step]
        if other:
            names = ", ".join(map(repr, other))
            raise StreamRefused(f"These steps were given, and are not in the plan: {names}.")
        runnable = frozen(plan, self._tools)
        rest = [step for step in runnable.plan.plan.steps if step.id not in self._given]
        self._admit(rest)
        self._kept.add(PlanSettled(runnable.plan.digest, tuple(steps), self._clock()))
        slots = await self._approved(runnable)
        self._scheduler.settle(runnable.plan.plan.output)
        self._scheduler.allow(slots)
        self._scheduler.start()

    async def _approved(self, runnable: Runnable) -> Mapping[str, int]:
        """Return the slots of the plan's approval; the run is in the journal when it returns.

        Raises:
            ApprovalRequired: there is none.
        """
        approval, kept, at = self._approval, self._kept, self._clock()
        granted: Approval | None = None
        if runnable.effects and approval is None:
            raise ApprovalRequired(runnable.plan.digest)
        if isinstance(approval, Approval):
            granted = checked(approval, runnable, self._name)
        if granted is not None:
            kept.add(RunApproved(granted.id, granted.digest, at))
        elif runnable.effects:
            kept.add(RunWaiting(at))
        if kept.is_journaled:
            record = record_of(runnable.plan, self._tools)
            await kept.accept(self._name, runnable.plan.digest, record)
        if runnable.effects and not isinstance(approval, Approval) and approval is not None:
            granted = await ask(approval, runnable, self._name, kept, self._clock)
        return {} if granted is None else granted.slots
