"""Runs of an app: started, resumed, shown, and continued without calls that are left out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from msgspec.structs import replace

from toolplan import engine as engines
from toolplan import providers
from toolplan.app._approve import Approve, ByPlan, approver_for, by_values
from toolplan.app._decisions import consents_of, metadata_of
from toolplan.app._left_out import without_calls
from toolplan.app._loop import Loop
from toolplan.app._setup import Setup, Start
from toolplan.app.dry_run.report import DryRun
from toolplan.app.dry_run.simulation import simulate
from toolplan.app.limits import ADVICE
from toolplan.app.results import AskResult, RunResult
from toolplan.app.resume import tools_in
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun, Decided
from toolplan.events import CallIntended, Event, Run, RunState, fold
from toolplan.events.traces import workflow
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.policy import Vouched
from toolplan.policy.approval import Approver
from toolplan.policy.consent import Answer, Consent, Decide, Effect, LeaveOut, ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool_call import on_day
from toolplan.show import summary as summaries
from toolplan.storage.journal import Slot, Store


class PartialApprovals:
    """Asks the approver of a run, and collects the calls that it leaves out and that it allows.

    A step with such an answer waits; `continued` then runs the rest in a run of its own.
    """

    def __init__(self, setup: Setup, journal: Store | None, start: Start) -> None:
        """Prepare the run that `start` describes; `start` of this object has its approver."""
        self._setup = setup
        self._journal = journal
        self.start = replace(start, approve=self._collecting(start.approve))
        self._left_out: list[Effect] = []
        self._allowed: list[Effect] = []

    def _collecting(self, approve: Approve | None) -> Approve | None:
        if isinstance(approve, ByPlan):
            choose = approve.choose

            def chosen(plan: ExecutionPlan) -> Approver | ValueApproval:
                return cast("Approver | ValueApproval", self._collecting(choose(plan)))

            return replace(approve, choose=chosen)
        values = by_values(approve)
        if values is None or values.decide is None:
            return approve
        return replace(values, decide=partial(self._ask, values.decide))

    async def _ask(
        self, decide: Decide, effects: tuple[Effect, ...]
    ) -> Mapping[str, Answer] | None:
        decided = {each.step for each in self._left_out}
        new = tuple(each for each in effects if each.step not in decided)
        if not new:
            return None
        given = decide(new)
        given = await given if inspect.isawaitable(given) else given
        answers: dict[str, Answer] = {}
        for step in dict.fromkeys(each.step for each in new):
            answer = given.get(step) if isinstance(given, Mapping) else given
            if isinstance(answer, LeaveOut):
                answer = self._keep([each for each in new if each.step == step], answer)
            answers[step] = answer
        return answers

    def _keep(self, calls: Sequence[Effect], answer: LeaveOut) -> Answer:
        """Keep which calls are left out; return the answer for this run."""
        step, items = calls[0].step, {each.item for each in calls}
        unknown = [each for each in answer.items if each not in items or isinstance(each, bool)]
        if unknown or None in items:
            raise ToolplanError("bad-answer", f"No call {unknown} of step {step!r} waits.")
        if not answer.items or len(set(answer.items)) == len(items):
            return not answer.items
        if self._journal is None:
            raise ToolplanError(
                "bad-answer",
                f"Calls of {step!r} are to be left out, and this run is in no journal.",
                "The remaining calls become a new plan that reuses finished steps: keep runs.",
            )
        for each in calls:
            (self._left_out if each.item in answer.items else self._allowed).append(each)
        return None

    async def continued(self, plan: ExecutionPlan, ended: Run) -> tuple[ExecutionPlan, Run]:
        """Return the run that continues `ended` without the calls left out; else `ended` itself."""
        setup, journal = self._setup, self._journal
        while self._left_out and journal is not None and ended.status is RunState.WAITING:
            left_out, consents = self._left_out, consents_of(self._allowed, (), "")
            self._left_out, self._allowed = [], []
            name, plan, consents = await without_calls(
                setup, journal, ended.run, plan, left_out, consents, self.start.options
            )
            ended = await _resume(setup, plan, name, journal, {}, consents, self.start)
        return plan, ended


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
            setup, journal, name, plan, left_out, consents, start.options
        )
    ended = await _resume(setup, plan, name, journal, decisions, consents, partly.start)
    return await partly.continued(plan, ended)


async def _resume(
    setup: Setup,
    plan: ExecutionPlan,
    run_id: str,
    journal: Store,
    decisions: Mapping[Slot, Decided],
    consents: Mapping[str, Consent],
    start: Start,
) -> Run:
    approval = await approver_for(start.approve, plan, journal, run_id, yes=start.yes)
    with on_day(start.day), workflow("resume") as traced:
        record = await in_thread(journal.record, run_id)
        setup = replace(setup, tools=tools_in(record, setup.tools))
        ended = await engines.resume(
            plan,
            run_id=run_id,
            approval=approval,
            decisions=decisions,
            consents=consents,
            on_event=start.on_event,
            **setup.engine_arguments(start.options, journal),
        )
        traced(ended)
    return ended


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
    setup: Setup, journal: Store, start: str, events: Sequence[Event] | None = None
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


def maker_of(plan: Json) -> str:
    """Return what made the run with this plan of a journal; empty for a person or a program."""
    match metadata_of(plan).get(ADVICE):
        case {"made_by": str(name)}:
            return name
        case _:
            return ""


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
