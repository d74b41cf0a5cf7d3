"""Runs from their start, or from where they were left, to their end."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from toolplan.approval import Approval, ApprovalRequired, Approver, approve, digest_of
from toolplan.engines._calls import CannotRun, Clock, RunOptions
from toolplan.engines._failures import accepted
from toolplan.engines._recorder import EventRecorder
from toolplan.engines._steps import Scheduler
from toolplan.events import (
    CallDecided,
    Decision,
    Event,
    Failure,
    ItemEnded,
    Run,
    RunApproved,
    RunEnded,
    RunResumed,
    RunStarted,
    RunState,
    RunWaiting,
    StepStarted,
    StepSucceeded,
)
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits, Plan, Step, needs
from toolplan.plan_json import dump, load
from toolplan.storage.journal import Recovered, RunRecord, Slot, recover
from toolplan.tools import Tool


class Settings(NamedTuple):
    """How a run is made, whatever its plan."""

    limits: Limits
    options: RunOptions
    clock: Clock

    def checked(self) -> Settings:
        """Return the settings themselves, if anything can run with them.

        Raises:
            ValueError: a bound on calls at once is less than 1.
        """
        single = (
            *self.options.tool_concurrency.values(),
            *self.options.source_concurrency.values(),
        )
        if min((self.options.concurrency, *single)) < 1:
            raise ValueError("At least one call must be allowed to run.")
        return self


class Decided(NamedTuple):
    """What a person decided about a call in doubt; `output` belongs to `done`."""

    decision: Decision
    output: Json = None


class _Needs:
    """The needs of steps as the compiler has found them."""

    def __init__(self, known: Mapping[str, tuple[str, ...]]) -> None:
        self._known = known

    def __call__(self, step: Step) -> tuple[str, ...]:
        return self._known[step.id]


class Runnable(NamedTuple):
    """A plan as it will run: `effects` says whether it may change anything."""

    plan: ExecutionPlan
    effects: bool
    needs: Callable[[Step], tuple[str, ...]]


async def start(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool],
    name: str,
    kept: EventRecorder,
    approval: Approval | Approver | None,
    settings: Settings,
    done: Sequence[Event] = (),
) -> Run:
    """Run `plan` from its start, under `name`; see `toolplan.engines.local.run`."""
    scheduler = new_scheduler(name, tools, kept, settings, taken_over(plan, done))
    runnable = frozen(plan, tools)
    scheduler.admit(runnable.plan.plan.steps, runnable.needs)
    scheduler.settle(runnable.plan.plan.output)
    granted = checked(approval, runnable, name) if isinstance(approval, Approval) else None
    if runnable.effects and approval is None:
        raise ApprovalRequired(runnable.plan.digest)
    ids = tuple(step.id for step in runnable.plan.plan.steps)
    clock = settings.clock
    kept.add(RunStarted(name, runnable.plan.digest, ids, clock()))
    for event in done:
        kept.add(event)
    if granted is not None:
        kept.add(RunApproved(granted.id, granted.digest, clock()))
    asks = runnable.effects and granted is None
    if asks:
        kept.add(RunWaiting(clock()))
    if kept.is_journaled:
        try:
            # the record is not held on to: it is as large as the plan, and goes when it is written
            await kept.accept(name, runnable.plan.digest, record_of(runnable.plan, tools))
        except asyncio.CancelledError:
            scheduler.report_cancelled()
            await kept.finish(())
            raise
    try:
        if asks and approval is not None and not isinstance(approval, Approval):
            granted = await _ask_or_end(approval, runnable, name, kept, clock)
        if granted is not None:
            scheduler.allow(granted.slots)
        await scheduler.run()
    finally:
        await kept.finish(scheduler.durations)
    return kept.run()


def taken_over(plan: ExecutionPlan, done: Sequence[Event]) -> Recovered:
    """Return what an earlier run has done of `plan`.

    Raises:
        CannotRun: the events tell of a step that the plan does not have, or of more than results.
    """
    known = {step.id for step in plan.plan.steps}
    for event in done:
        if not isinstance(event, StepStarted | ItemEnded | StepSucceeded):
            raise CannotRun(f"A result cannot be taken over from {type(event).__name__}.")
        if event.step not in known:
            raise CannotRun(f"The plan has no step {event.step!r} that takes a result over.")
    return recover(done)


def new_scheduler(
    name: str,
    tools: Mapping[str, Tool],
    kept: EventRecorder,
    settings: Settings,
    recovered: Recovered,
) -> Scheduler:
    """Return a scheduler whose events go to `kept`, and which stops where they cannot be kept."""
    scheduler = Scheduler(
        name,
        tools,
        emit=kept.sink,
        clock=settings.clock,
        limits=settings.limits,
        options=settings.options,
        log=kept if kept.is_journaled else None,
        recovered=recovered,
    )
    kept.on_failure = scheduler.abandon
    kept.on_room = scheduler.go_on
    return scheduler


def frozen(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> Runnable:
    """Return what will run of `plan`.

    Of a plan with effects that is a copy that nobody else holds, read from its wire form, with the
    digest of that copy and of the tools that are here: whatever was changed in `plan` or its tools
    after the check has another digest, and what is changed from now on does not run.

    Raises:
        CannotRun: the plan has been changed into one that cannot be read.
    """
    # the tools that are here count as well: they may not be those that the plan was checked with
    used = [tools.get(step.tool) for step in plan.plan.steps]
    if not plan.effects and not any(tool is not None and tool.has_effects for tool in used):
        return Runnable(plan, False, _Needs(plan.needs))
    copy = _copy(plan.plan)
    try:
        digest = digest_of(copy, tools, plan.policy)
    except KeyError as missing:
        raise CannotRun(f"There is nothing to call for: {missing.args[0]!r}.") from None
    return Runnable(replace(plan, plan=copy, digest=digest), True, needs)


def _copy(plan: Plan) -> Plan:
    parsed = load(json.loads(json.dumps(dump(plan))))
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        raise CannotRun("The plan was changed after its check, and is none any more.")
    return parsed.plan


def checked(approval: Approval, runnable: Runnable, name: str) -> Approval | None:
    """Return `approval` bound to the run named `name`, None where the plan needs none.

    Raises:
        ApprovalRequired: it is for another plan.
        ApprovalUsed: another run has used it.
    """
    if not runnable.effects:
        return None
    if approval.digest != runnable.plan.digest:
        raise ApprovalRequired(runnable.plan.digest)
    approval.use_for(name)
    return approval


async def ask(
    approver: Approver, runnable: Runnable, name: str, kept: EventRecorder, clock: Clock
) -> Approval:
    """Return the approval that `approver` gives for the plan, kept before anything is done on it.

    Raises:
        ApprovalRequired: it gives none, or one for another plan.
        ApprovalUsed: it gives one that another run has used.
    """
    answer = approver(runnable.plan)
    given = await answer if inspect.isawaitable(answer) else answer
    granted = None if given is None else checked(given, runnable, name)
    if granted is None:
        raise ApprovalRequired(runnable.plan.digest)
    await kept.approve(RunApproved(granted.id, granted.digest, clock()))
    return granted


async def _ask_or_end(
    approver: Approver, runnable: Runnable, name: str, kept: EventRecorder, clock: Clock
) -> Approval:
    """Ask, and tell that the run is over where leave is not given."""
    try:
        return await ask(approver, runnable, name, kept, clock)
    except ApprovalRequired:
        kept.add(RunEnded(RunState.CANCELLED, None, clock()))
        raise


async def go_on(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool],
    name: str,
    kept: EventRecorder,
    approval: Approval | Approver | None,
    decisions: Mapping[Slot, Decided],
    settings: Settings,
) -> Run:
    """Run what is left of the run `name`; see `toolplan.engines.local.resume`."""
    events = await kept.take_over(name)
    recovered = recover(events)
    if recovered.status is not None:
        await kept.let_go()
        if decisions:
            place, ended = _place(next(iter(decisions))), recovered.status.value
            raise CannotRun(f"There is no call in doubt for {place}: the run is {ended}.")
        return kept.run()
    try:
        runnable = frozen(plan, tools)
        scheduler, decided = _prepared(runnable, tools, name, kept, recovered, decisions, settings)
        _compare(record_of(runnable.plan, tools), await kept.record(name))
        asks = runnable.effects and not recovered.approval
        granted: Approval | None = None
        if asks and approval is None:
            raise ApprovalRequired(runnable.plan.digest)
        if asks and isinstance(approval, Approval):
            granted = checked(approval, runnable, name)
    except BaseException:
        await kept.let_go()
        raise
    clock = settings.clock
    kept.write()
    try:
        if granted is not None:
            await kept.approve(RunApproved(granted.id, granted.digest, clock()))
        elif asks and approval is not None and not isinstance(approval, Approval):
            await _ask_or_end(approval, runnable, name, kept, clock)
        for event in decided:
            kept.add(event)
        kept.add(RunResumed(clock()))
        scheduler.allow(approve(runnable.plan).slots)
        await scheduler.run()
    finally:
        await kept.finish(scheduler.durations)
    return kept.run()


def _compare(here: RunRecord, kept: RunRecord) -> None:
    """See that plan and tools are those that the run was started with.

    Raises:
        CannotRun: they are not; the text names what differs.
    """
    for name in ("steps", "output"):
        if _part(here.plan, name) != _part(kept.plan, name):
            raise CannotRun(f"The plan's {name} are not those that the run was started with.")
    before = {str(_part(tool, "name")): tool for tool in _items(kept.tools)}
    changed = [
        name
        for name, tool in ((str(_part(tool, "name")), tool) for tool in _items(here.tools))
        if before.get(name) != tool
    ]
    if changed:
        names = ", ".join(map(repr, changed))
        raise CannotRun(f"These tools have changed since the run was started: {names}.")


def _part(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _prepared(
    runnable: Runnable,
    tools: Mapping[str, Tool],
    name: str,
    kept: EventRecorder,
    recovered: Recovered,
    decisions: Mapping[Slot, Decided],
    settings: Settings,
) -> tuple[Scheduler, list[CallDecided]]:
    """Return a scheduler for the rest of a run, and the events that say what a person decided."""
    steps = {step.id: step for step in runnable.plan.plan.steps}
    decided: list[CallDecided] = []
    for slot, (decision, output) in decisions.items():
        step, item = slot
        if slot not in recovered.intents or tools[steps[step].tool].may_repeat:
            raise CannotRun(f"There is no call in doubt for {_place(slot)}.")
        attempt = recovered.intents[slot]
        if decision == "resolve":
            output = _fitting(tools[steps[step].tool], output, settings)
        decided.append(CallDecided(step, item, attempt, decision, output, settings.clock()))
    known = {(each.step, each.item): each for each in decided}
    whole = replace(recovered, decisions={**recovered.decisions, **known})
    scheduler = new_scheduler(name, tools, kept, settings, whole)
    scheduler.admit(runnable.plan.plan.steps, runnable.needs)
    scheduler.settle(runnable.plan.plan.output)
    return scheduler, decided


def _place(slot: Slot) -> str:
    step, item = slot
    return f"step {step!r}" if item is None else f"item {item} of step {step!r}"


def _fitting(tool: Tool, output: Json, settings: Settings) -> Json:
    """Return what a person says that a call gave, if the tool could have given it."""
    options, limits = settings.options, settings.limits
    taken = accepted(tool, output, depth=limits.depth, size=options.result_size)
    if isinstance(taken, Failure):
        raise CannotRun(f"Tool {tool.name!r} cannot have given that: {taken.message}")
    return taken


def record_of(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> RunRecord:
    """Return what the journal keeps of what a run was started with."""
    used = dict.fromkeys(step.tool for step in plan.plan.steps)
    return RunRecord(
        plan=dump(plan.plan),
        tools=[tools[name].to_json() for name in used],
        policy=dict(plan.policy),
    )
