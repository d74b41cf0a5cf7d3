"""Runs: started, or resumed, and run to their end."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.engine import _staged as stages
from toolplan.engine._calls import CannotRun, Clock, no_call_in_doubt
from toolplan.engine._execution import Execution
from toolplan.engine._failures import accepted
from toolplan.engine._staged import Stage
from toolplan.engine._steps import Scheduler
from toolplan.engine._values import Budget
from toolplan.events import (
    CallDecided,
    ConsentGiven,
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
from toolplan.plan.canonical import dump, load
from toolplan.plan.model import Step, needs
from toolplan.plan.path import Json
from toolplan.policy.approval import (
    Approval,
    ApprovalRequired,
    ApprovalUsed,
    BadApproval,
    approve,
    decider,
    digest_of,
    needs_no_approval,
)
from toolplan.policy.consent import NO_CONSENTS, Consent, ValueApproval, needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool
from toolplan.storage.journal import JournalError, Recovered, RunRecord, Slot, recover

_NEW: Final = Recovered()
POLICY: Final = "policy"
"""The approver of plans that run unasked, as the journal names it."""


class Decided(Struct, frozen=True):
    """A decision about a call in doubt; `output` is the result of a resolved call."""

    decision: Decision
    output: Json = None


class Runnable(Struct, frozen=True):
    """A plan as it will run; `effects` says whether it may change anything.

    `unasked`: it is as it was checked, and its policy lets it run without an approval.
    """

    plan: ExecutionPlan
    effects: bool
    needs: Callable[[Step], tuple[str, ...]]
    unasked: bool = False


async def start(
    plan: ExecutionPlan, execution: Execution, done: Sequence[Event] = (), *, syncs: bool = True
) -> Run:
    """Run `plan` from its start; see `toolplan.engine.local.run`."""
    recorder = execution.recorder
    known = {step.id for step in plan.plan.steps}
    for each in done:
        if not isinstance(each, StepStarted | ItemEnded | StepSucceeded):
            raise CannotRun(f"A result cannot be taken over from {type(each).__name__}.")
        if each.step not in known:
            raise CannotRun(f"The plan has no step {each.step!r} that takes a result over.")
    recovered = recover(done)
    runnable = frozen(plan, execution.tools)
    recorder.syncs = syncs or runnable.effects
    scheduler = _whole_scheduler(execution, runnable, recovered)
    approval = RunApproval(execution, runnable, scheduler)
    ids = tuple(step.id for step in runnable.plan.plan.steps)
    recorder.add(RunStarted(execution.name, runnable.plan.digest, ids, execution.clock()))
    for event in done:
        recorder.add(event)
    approval.record()
    if recorder.is_journaled:
        try:
            # no name for the record: it is as large as the plan, and is freed once it is written
            await recorder.accept(
                execution.name, runnable.plan.digest, record_of(runnable.plan, execution.tools)
            )
        except asyncio.CancelledError:
            scheduler.report_cancelled()
            await recorder.finish(())
            raise
    try:
        if approval.must_ask:
            await _ask_or_end(approval, execution, is_new=True)
        scheduler.allow(approval.slots)
        await scheduler.run()
    finally:
        await finish(execution, scheduler)
    return recorder.run()


async def finish(execution: Execution, scheduler: Scheduler) -> None:
    """Stop asking, and wait until everything is on disk."""
    if scheduler.stage is not None:
        await scheduler.stage.close()
    await execution.recorder.finish(scheduler.in_flight.latest_durations)


async def continue_run(
    plan: ExecutionPlan,
    execution: Execution,
    decisions: Mapping[Slot, Decided],
    consents: Mapping[str, Consent] = NO_CONSENTS,
) -> Run:
    """Run the remaining steps of a run; see `toolplan.engine.local.resume`."""
    recorder, clock = execution.recorder, execution.clock
    record, events = await recorder.take_over(
        execution.name, lambda journal: journal.whole(execution.name)
    )
    recovered = recover(events)
    if recovered.status is not None:
        await recorder.release()
        if decisions:
            place, ended = _place(next(iter(decisions))), recovered.status.value
            raise no_call_in_doubt(place, f": the run is {ended}")
        stages.agreed_events(None, consents, {})
        return recorder.run()
    try:
        runnable = frozen(plan, execution.tools)
        decided = _decided(runnable, execution, recovered, decisions)
        known = {(each.step, each.item): each for each in decided}
        decisions_so_far = {**recovered.decisions, **known}
        owner = recorder.previous_owner
        recovered = replace(recovered, decisions=decisions_so_far, previous_owner=owner)
        scheduler = _whole_scheduler(execution, runnable, recovered)
        _check_unchanged(record_of(runnable.plan, execution.tools), record)
        approval = RunApproval(execution, runnable, scheduler, recovered)
        agreed = stages.agreed_events(approval.stage, consents, recovered.waiting)
    except BaseException:
        await recorder.release()
        raise
    recorder.write()
    try:
        if approval.granted is not None:
            await recorder.approve(approved(approval.granted, clock, approval.by))
        elif approval.stage is not None and recovered.staged is None:
            recorder.add(approval.stage.begun())
        elif approval.must_ask:
            await _ask_or_end(approval, execution)
        for event in (*decided, *agreed):
            recorder.add(event)
        recorder.add(RunResumed(clock()))
        scheduler.outcomes.go_on(recorder.run().steps)
        if agreed:
            await recorder.synced()  # an answer is on disk before any call that it allows
        scheduler.allow(approve(runnable.plan).slots)
        await scheduler.run()
    finally:
        await finish(execution, scheduler)
    return recorder.run()


def new_scheduler(execution: Execution, recovered: Recovered = _NEW) -> Scheduler:
    """Return a scheduler that stops when its events cannot be recorded."""
    scheduler = Scheduler(execution, recovered)
    execution.recorder.on_failure = scheduler.ending.abandon
    execution.recorder.on_room = scheduler.start_waiting
    if execution.leaving is not None:
        execution.leaving.add(scheduler)
    return scheduler


def _whole_scheduler(execution: Execution, runnable: Runnable, recovered: Recovered) -> Scheduler:
    scheduler = new_scheduler(execution, recovered)
    scheduler.flow_checks.plan_is(runnable.plan)
    scheduler.admit(runnable.plan.plan.steps, runnable.needs)
    scheduler.complete(runnable.plan.plan.output)
    return scheduler


def frozen(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> Runnable:
    """Return the plan that will run, which later changes of `plan` cannot reach.

    Of a plan with effects this is a private copy, with the digest of that copy and of `tools`: a
    change of the plan or its tools after the check has another digest, and a later change of `plan`
    does not run.

    Raises:
        CannotRun: the plan was changed into one that is not valid.
    """
    # these tools count as well: they may not be those that the plan was checked with
    used = [tools.get(step.tool) for step in plan.plan.steps]
    if not plan.effects and not any(tool is not None and tool.has_effects for tool in used):
        return Runnable(plan, False, lambda step: plan.needs[step.id])
    parsed = load(json.loads(json.dumps(dump(plan.plan))))
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        raise CannotRun("The plan was changed after its check and is no longer valid.")
    copy = parsed.plan
    try:
        digest = digest_of(copy, tools, plan.policy)
    except KeyError as missing:
        raise CannotRun(f"There is no function to call for: {missing.args[0]!r}.") from None
    checked = replace(plan, plan=copy, digest=digest)
    unasked = digest == plan.digest and needs_no_approval(checked)
    return Runnable(checked, True, needs, unasked)


# Approval


class RunApproval:
    """How a run is approved: its plan as a whole, or each call with its values.

    Attributes:
        plan: the plan that is approved.
        granted: the approval of the plan.
        stage: the calls that are approved with their values.
        must_ask: whether the approver is to be called with the plan.
        by: who approved the plan; empty for the current decider.
    """

    def __init__(
        self,
        execution: Execution,
        runnable: Runnable,
        scheduler: Scheduler,
        recovered: Recovered = _NEW,
    ) -> None:
        """Take the approval that was given with the run.

        A plan that its policy lets run unasked approves itself, unless an approval was given for
        it.

        Raises:
            ApprovalRequired: the plan has effects, and no approval or one of another plan.
            ApprovalUsed: another run has used it.
        """
        self._execution = execution
        self._scheduler = scheduler
        self._has_effects = runnable.effects
        self.plan = runnable.plan
        self.granted: Approval | None = None
        self.stage: Stage | None = None
        self.must_ask = False
        self.by = ""
        given, staged = execution.approval, recovered.staged
        if not runnable.effects or recovered.approval:
            return
        if staged is not None:
            values = given if isinstance(given, ValueApproval) else ValueApproval()
            self._hold(replace(values, shapes=staged.shapes), recovered.consents)
        elif isinstance(given, Approval):
            self.granted = self._bound(given)
        elif runnable.unasked:
            self.granted, self.by = approve(self.plan), POLICY
        elif isinstance(given, ValueApproval):
            self._hold(given)
        elif given is None:
            raise ApprovalRequired(self.plan.digest)
        else:
            self.must_ask = True

    @property
    def slots(self) -> Mapping[str, int]:
        """Maximum number of calls of each step with effects; none without an approval."""
        if self.granted is None and self.stage is None:
            return {}
        return (approve(self.plan) if self.granted is None else self.granted).slots

    def record(self) -> None:
        """Record the approval of a new run, or that it waits for one."""
        clock, recorder = self._execution.clock, self._execution.recorder
        if self.stage is not None:
            recorder.add(self.stage.begun())
        elif self.granted is not None:
            recorder.add(approved(self.granted, clock, self.by))
        elif self._has_effects:
            recorder.add(RunWaiting(clock()))

    async def ask(self) -> None:
        """Call the approver with the plan; its approval is then on disk.

        Where it says yes to a plan whose calls hold values of tools, which it has not seen, the
        calls wait with their values.

        Raises:
            ApprovalRequired: it refuses, or returns an approval of another plan.
            ApprovalUsed: it returns an approval that another run has used.
            BadApproval: it returns something else.
        """
        approver, recorder = self._execution.approval, self._execution.recorder
        answer = approver(self.plan) if callable(approver) else None
        given = cast("object", await answer if inspect.isawaitable(answer) else answer)
        if given is None or given is False:
            raise ApprovalRequired(self.plan.digest)
        if given is True and needs_values(self.plan):
            recorder.add(self._hold(ValueApproval()).begun())
            return
        if given is True:
            given = approve(self.plan)
        if not isinstance(given, Approval):
            raise BadApproval(given)
        self.granted = self._bound(given)
        await recorder.approve(approved(self.granted, self._execution.clock))

    def _bound(self, approval: Approval) -> Approval:
        if approval.digest != self.plan.digest:
            raise ApprovalRequired(self.plan.digest)
        approval.use_for(self._execution.name)
        return approval

    def _hold(self, approval: ValueApproval, consents: Iterable[ConsentGiven] = ()) -> Stage:
        """Let the calls of the run wait until their values are approved."""
        self.stage = Stage(self._execution, self.plan, approval, consents, self._scheduler)
        self._scheduler.hold(self.stage)
        return self.stage


def approved(granted: Approval, clock: Clock, by: str = "") -> RunApproved:
    """Return the event that a plan was approved; without `by` the current decider did it."""
    return RunApproved(granted.id, granted.digest, clock(), by or decider())


async def _ask_or_end(approval: RunApproval, execution: Execution, *, is_new: bool = False) -> None:
    """Call the approver; if it does not approve, record the end of the run.

    Where other runs used what it gives, a run that waited before waits on.
    """
    try:
        await approval.ask()
    except (ApprovalRequired, BadApproval, ApprovalUsed, JournalError) as error:
        if error.code in ("approval-required", "bad-approval") or (
            error.code == "approval-used" and is_new
        ):
            execution.recorder.add(RunEnded(RunState.CANCELLED, None, execution.clock()))
        raise


# Resuming


def record_of(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> RunRecord:
    """Return the record of a run in the journal."""
    used = dict.fromkeys(step.tool for step in plan.plan.steps)
    return RunRecord(
        plan=dump(plan.plan),
        tools=[{**tools[name].to_json(), "version": tools[name].version} for name in used],
        policy=dict(plan.policy),
    )


def _check_unchanged(here: RunRecord, recorded: RunRecord) -> None:
    """Check that plan and tools are those that the run was started with.

    Raises:
        CannotRun: they differ; the message says where.
    """
    for name in ("steps", "output"):
        if _part(here.plan, name) != _part(recorded.plan, name):
            raise CannotRun(f"The plan's {name} are not those that the run was started with.")
    before = _tools_by_name(recorded)
    changed: list[str] = []
    for name, tool in _tools_by_name(here).items():
        was = before.get(name, {})
        parts = [part for part in dict.fromkeys((*tool, *was)) if tool.get(part) != was.get(part)]
        if parts:
            changed.append(f"{name!r} ({', '.join(parts)})")
    if changed:
        raise CannotRun(
            f"These tools have changed since the run was started: {', '.join(changed)}."
        )


def _part(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _tools_by_name(record: RunRecord) -> dict[str, dict[str, Json]]:
    """Return the tool objects of `record` without the version, which follows from the rest."""
    tools = record.tools if isinstance(record.tools, list) else []
    return {
        str(tool.get("name")): {part: tool[part] for part in tool if part != "version"}
        for tool in tools
        if isinstance(tool, dict)
    }


def _decided(
    runnable: Runnable,
    execution: Execution,
    recovered: Recovered,
    decisions: Mapping[Slot, Decided],
) -> list[CallDecided]:
    """Return the events of `decisions`.

    Raises:
        CannotRun: a call is not in doubt, or its tool cannot have returned that output.
    """
    steps = {step.id: step for step in runnable.plan.plan.steps}
    decided: list[CallDecided] = []
    for slot, made in decisions.items():
        (name, item), decision, output = slot, made.decision, made.output
        if slot not in recovered.intents or execution.tools[steps[name].tool].may_repeat:
            raise no_call_in_doubt(_place(slot))
        if decision == "resolve":
            tool, options = execution.tools[steps[name].tool], execution.options
            depth, size = execution.limits.depth, options.result_size
            kept = Budget(options.run_size)
            taken = accepted(tool, output, depth, size, kept)
            if isinstance(taken, Failure) and not _is_what_came(recovered, slot, output):
                raise CannotRun(f"Tool {tool.name!r} cannot have returned that: {taken.message}")
            output = output if isinstance(taken, Failure) else taken
        attempt = recovered.intents[slot]
        now, by = execution.clock(), decider()
        decided.append(CallDecided(name, item, attempt, decision, output, now, by))
    return decided


def _is_what_came(recovered: Recovered, slot: Slot, output: Json) -> bool:
    """Return whether `output` is exactly the result of the call in doubt, valid or not."""
    known = recovered.doubts.get(slot)
    match None if known is None else known.result:
        case {"json": came}:
            return json.dumps(came, sort_keys=True) == json.dumps(output, sort_keys=True)
        case _:
            return False


def _place(slot: Slot) -> str:
    step, item = slot
    return f"step {step!r}" if item is None else f"item {item} of step {step!r}"
