"""Runs of an app: started, resumed, shown, simulated, and summarised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolplan import engine as engines
from toolplan import providers
from toolplan.app._approve import approver_for
from toolplan.app._left_out import PartialApprovals, resume_run, without_calls
from toolplan.app._loop import Loop
from toolplan.app._setup import Setup, Start
from toolplan.app.dry_run.report import DryRun
from toolplan.app.dry_run.simulation import simulate
from toolplan.app.results import AskResult, RunResult
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun, Decided
from toolplan.events import CallIntended, Event, Run, fold
from toolplan.events.traces import workflow
from toolplan.plan.canonical import load
from toolplan.policy import Vouched
from toolplan.policy.consent import Consent, Effect
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool_call import on_day
from toolplan.show import summary as summaries
from toolplan.storage.journal import Slot, Store


async def started(
    setup: Setup, plan: ExecutionPlan, run_id: str | None, journal: Store | None, start: Start
) -> tuple[ExecutionPlan, Run]:
    """Run a plan, or without the calls that an approver leaves out another one; see `App.run`."""
    partly = PartialApprovals(setup, journal, start)
    start = partly.start
    approval = await approver_for(start.approve, plan, journal, yes=start.yes)
    with on_day(start.day), workflow("run") as traced:
        ended = await engines.run(
            plan,
            approval=approval,
            run_id=run_id or setup.new_id(),
            done=start.done,
            on_event=start.on_event,
            **setup.engine_arguments(start.options, journal),
        )
        traced(ended)
    return await partly.continued(plan, ended)


async def resumed(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    decisions: Mapping[Slot, Decided],
    consents: Mapping[str, Consent],
    left_out: Sequence[str | Effect],
    start: Start,
) -> tuple[ExecutionPlan, Run]:
    """Resume a run, or one without the calls of `left_out` that continues it; see `App.resume`."""
    partly = PartialApprovals(setup, journal, start)
    if left_out:
        name, plan, consents = await without_calls(
            setup, journal, name, plan, left_out, consents, start
        )
    ended = await resume_run(setup, journal, name, plan, consents, partly.start, decisions)
    return await partly.continued(plan, ended)


async def answered(loop: Loop, asked: AskResult) -> AskResult:
    """Answer a question; where calls are left out, with the run that continues without them."""
    partly = PartialApprovals(loop.setup, loop.journal, loop.start)
    with on_day(loop.start.day):
        asked = await replace(loop, start=partly.start).answer(asked)
    if asked.run is None or asked.compiled is None or asked.plan is None:
        return asked
    plan, ended = await partly.continued(asked.plan, asked.run)
    if ended is asked.run:
        return asked
    compiled = asked.compiled._replace(plan=plan)
    return replace(asked, compiled=compiled, run=ended, answer=loop.setup.answer(plan, ended))


def kept_result(
    setup: Setup, journal: Store, start: str, events: Sequence[Event] | None
) -> RunResult:
    """Return a run of the journal; `plan` is None where it does not pass the check any more.

    `events` are its events, where they were read before; None reads them.
    """
    name = journal.find(start)
    events = journal.events(name) if events is None else events
    record = journal.record(name)
    ended, written = fold(events), load(record.plan).plan
    acted = {event.step for event in events if isinstance(event, CallIntended)}
    try:
        plan = setup.plan_in(record)
    except CannotRun:
        plan = None
    return RunResult.of(ended, plan, written and setup.answer(written, ended, acted))


async def simulate_run(setup: Setup, plan: ExecutionPlan, journal: Store | None) -> DryRun:
    """Return what a run of `plan` would do, without a call of a tool."""
    used = {step.tool for step in plan.plan.steps}
    recordings = {} if journal is None else await in_thread(journal.recordings, used)
    return await simulate(plan, setup.tools, recordings=recordings)


async def summarised(
    asked: AskResult, model: providers.Model | None, form: summaries.Format | None, setup: Setup
) -> AskResult:
    """Return `asked` with its answer in a model's words, where it has an answer.

    A model is not given the results of a plan that reads something secret.
    """
    if form is None or asked.run is None or asked.answer is None:
        return asked
    steps, vouched = asked.plan.plan.steps if asked.plan else (), Vouched(setup.policy, setup.tools)
    called = sorted({step.tool for step in steps})
    secret = ", ".join(name for name in called if vouched.outputs(name).secrets)
    withheld = f"results of {secret} are secret, and whoever runs the model would read them"
    summariser = summaries.Summariser(model, format=form)
    written = await summariser.summarise(
        asked.answer, asked.run, asked.question.text, withheld=withheld if secret else ""
    )
    return replace(asked, summary=written)
