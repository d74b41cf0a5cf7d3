"""Runs of an app: started, resumed, shown, simulated, and summarised.

Calls of a `for_each` may be left out of a run that waits: a new plan continues the run, and takes
over what is done. Until the old run is over, the new one makes no call that was shown.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from msgspec.structs import replace

from toolplan import engine as engines
from toolplan import providers
from toolplan.app._loop import Loop
from toolplan.app.results import AskResult, RunResult
from toolplan.app.resume import (
    Approve,
    ByPlan,
    LeftOut,
    approver_for,
    by_values,
    consents_of,
    left_out_items,
    tools_in,
)
from toolplan.app.setup import Setup, Start
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun, Decided, deltas, no_call_waits
from toolplan.events import (
    CallIntended,
    CallWaiting,
    Event,
    Failure,
    Run,
    RunEnded,
    RunState,
    StepCancelled,
    StepSucceeded,
    fold,
)
from toolplan.events.traces import workflow
from toolplan.plan.canonical import dump, load
from toolplan.plan.model import Array, Literal, Plan, Ref, Value, array, located_refs, step_refs
from toolplan.plan.path import EVERY
from toolplan.policy import Policy, Vouched
from toolplan.policy.approval import Approver, needs_no_approval
from toolplan.policy.consent import (
    Answer,
    Consent,
    Decide,
    Effect,
    LeaveOut,
    ValueApproval,
    call_digest,
    effect_of,
    is_as_shown,
)
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool_call import on_day
from toolplan.show import summary as summaries
from toolplan.storage.journal import JournalError, Recovered, Slot, Store, recover, to_record

LEFT_OUT: Final = "left-out"
"""The code of the end of a run that another one, without some of its calls, continues."""
_SHOWN: Final = "`toolplan show RUN` shows the calls that wait."


class Runs:
    """Starts and continues runs as `start` says, and collects what its approver leaves out.

    A step of which calls are left out waits; the rest is then run in a run of its own.
    """

    def __init__(self, setup: Setup, journal: Store | None, start: Start) -> None:
        self._setup, self._journal = setup, journal
        self.start = replace(start, approve=self._collecting(start.approve))
        self._left_out: list[Effect] = []
        self._allowed: list[Effect] = []

    async def started(self, plan: ExecutionPlan, run_id: str | None) -> tuple[ExecutionPlan, Run]:
        """Run a plan, or without the calls that an approver leaves out another; see `App.run`."""
        setup, start = self._setup, self.start
        approval = await approver_for(start.approve, plan, self._journal, yes=start.yes)
        with on_day(start.day), workflow("run") as traced:
            ended = await engines.run(
                plan,
                approval=approval,
                run_id=run_id or setup.new_id(),
                done=start.done,
                on_event=start.on_event,
                syncs=not start.quick,
                **setup.engine_arguments(start.options, self._journal),
            )
            traced(ended)
        return await self._continued(plan, ended)

    async def resumed(
        self,
        journal: Store,
        name: str,
        plan: ExecutionPlan,
        decisions: Mapping[Slot, Decided],
        consents: Mapping[str, Consent],
        left_out: Sequence[str | Effect],
    ) -> tuple[ExecutionPlan, Run]:
        """Resume a run, or one without the calls of `left_out` that continues it."""
        if left_out:
            name, plan, consents = await self._without(journal, name, plan, left_out, consents)
        ended = await self._resumed(journal, name, plan, consents, decisions)
        return await self._continued(plan, ended)

    async def answered(self, loop: Loop, asked: AskResult) -> AskResult:
        """Answer a question; where calls are left out, with the run that continues without them."""
        with on_day(self.start.day), workflow("ask") as traced:
            asked = await replace(loop, start=self.start).answer(asked)
            traced(asked.run)
        if asked.run is None or asked.compiled is None or asked.plan is None:
            return asked
        plan, ended = await self._continued(asked.plan, asked.run)
        if ended is asked.run:
            return asked
        compiled, answer = asked.compiled._replace(plan=plan), self._setup.answer(plan, ended)
        return replace(asked, compiled=compiled, run=ended, answer=answer)

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

    async def _continued(self, plan: ExecutionPlan, ended: Run) -> tuple[ExecutionPlan, Run]:
        """Return the run that continues `ended` without the calls left out; else `ended` itself."""
        journal = self._journal
        while self._left_out and journal is not None and ended.status is RunState.WAITING:
            left_out, consents = self._left_out, consents_of(self._allowed, (), "")
            self._left_out, self._allowed = [], []
            name, plan, consents = await self._without(journal, ended.run, plan, left_out, consents)
            ended = await self._resumed(journal, name, plan, consents, {})
        return plan, ended

    async def _resumed(
        self,
        journal: Store,
        name: str,
        plan: ExecutionPlan,
        consents: Mapping[str, Consent],
        decisions: Mapping[Slot, Decided],
    ) -> Run:
        start = self.start
        approval = await approver_for(start.approve, plan, journal, name, yes=start.yes)
        with on_day(start.day), workflow("resume") as traced:
            record = await in_thread(journal.record, name)
            setup = replace(self._setup, tools=tools_in(record, self._setup.tools))
            ended = await engines.resume(
                plan,
                run_id=name,
                approval=approval,
                decisions=decisions,
                consents=consents,
                on_event=start.on_event,
                **setup.engine_arguments(start.options, journal),
            )
            traced(ended)
        return ended

    async def _without(
        self,
        journal: Store,
        name: str,
        plan: ExecutionPlan,
        left_out: Sequence[str | Effect],
        consents: Mapping[str, Consent],
    ) -> tuple[str, ExecutionPlan, dict[str, Consent]]:
        """Return the run that continues `name` without `left_out`, its plan, and its consents.

        The run `name` is then over.
        """
        setup, items = self._setup, left_out_items(left_out)
        events = await in_thread(journal.events, name)
        recovered = recover(events)
        _check_waits(name, events, recovered, items, consents)
        narrowed = _narrowed(plan.plan, recovered, items)
        other = await in_thread(_compiled, setup, journal, name, narrowed)
        new = hashlib.sha256(f"{name} {other.digest}".encode()).hexdigest()[:32]
        shapes = () if recovered.staged is None else recovered.staged.shapes
        try:
            await engines.run(
                other,
                approval=ValueApproval(None, shapes),
                run_id=new,
                done=deltas.delta(plan, events, other).events,
                **setup.engine_arguments(self.start.options, journal),
            )
        except JournalError as error:
            if error.code != "run-exists":  # an earlier attempt was interrupted here
                raise
        await in_thread(_end, journal, name, items, new, setup.clock())
        waiting = recover(await in_thread(journal.events, new)).waiting
        bound: dict[str, Consent] = {}  # to the calls of the new run, of steps with the same calls
        for step, consent in consents.items():
            shown = sorted(_waiting_of(recovered.waiting, step).items(), key=lambda it: it[0] or 0)
            kept = [each for item, each in shown if item not in items.get(step, {})]
            calls: dict[int | None, str] = {}
            for at, each in enumerate(kept):
                item = None if each.item is None else at
                calls[item] = call_digest(new, step, item, each.tool, each.args)
            if calls == {item: it.digest for item, it in _waiting_of(waiting, step).items()}:
                bound[step] = replace(consent, calls=calls)
        return new, other, bound


def _waiting_of(waiting: Mapping[Slot, CallWaiting], step: str) -> dict[int | None, CallWaiting]:
    return {item: each for (of, item), each in waiting.items() if of == step}


def _check_waits(
    name: str,
    events: Sequence[Event],
    recovered: Recovered,
    items: LeftOut,
    consents: Mapping[str, Consent],
) -> None:
    """Check that all decided calls wait as they were shown, and no call failed halfway."""
    if fold(events).status is not RunState.WAITING or recovered.staged is None:
        raise CannotRun(
            "Calls are left out of a run that waits with their values, and of no other.",
            "`toolplan show RUN` shows how the run stands.",
        )
    done = {
        step
        for step, ended in recovered.over.items()
        if isinstance(ended, StepSucceeded) and ended.failure is None
    }
    if begun := {step for step, _ in recovered.tries}.difference(done):
        raise CannotRun(
            f"Calls of {', '.join(map(repr, sorted(begun)))} were made and did not succeed:"
            " another plan could make them again."
        )
    shown = [(step, consent.calls or {}) for step, consent in consents.items()]
    for step, digests in [*shown, *items.items()]:
        waits = _waiting_of(recovered.waiting, step)
        if not waits:
            raise no_call_waits(f"of step {step!r}")
        for item, digest in digests.items():
            if item not in waits and step in items:
                raise no_call_waits(f"{item} of step {step!r}")
            call = waits.get(item)
            if digest is not None and (
                call is None or call.digest != digest or not is_as_shown(name, effect_of(call))
            ):
                message = f"The call of step {step!r} that waits is not the one that was shown."
                raise CannotRun(message, _SHOWN)
        if len(items.get(step, ())) == len(waits):
            message = f"All calls of step {step!r} would be left out."
            raise CannotRun(message, f"`--deny {step}` refuses them.")


def _narrowed(plan: Plan, recovered: Recovered, items: LeftOut) -> Plan:
    """Return `plan` without some of the items of its steps."""
    refs = [(f"step {each.id!r}", ref) for each in plan.steps for _, ref in step_refs(each)]
    if plan.output is not None:
        refs += [("the output", ref) for _, ref in located_refs(plan.output, "/output")]
    for who, ref in refs:
        if ref.step in items and ref.path and isinstance(ref.path[0], int):
            raise CannotRun(
                f"Items of step {ref.step!r} cannot be left out: {who} refers to one by its place.",
                f"`--deny {ref.step}` refuses them all.",
            )
    steps = list(plan.steps)
    for at, step in enumerate(steps):
        if step.id in items and step.for_each is not None:
            count = len(_waiting_of(recovered.waiting, step.id))
            kept = [item for item in range(count) if item not in items[step.id]]
            steps[at] = replace(step, for_each=_only(step.id, step.for_each, kept))
    return replace(plan, steps=tuple(steps))


def _only(step: str, for_each: Value, kept: Sequence[int]) -> Value:
    """Return the `for_each` of a step with the items at `kept` only."""
    match for_each:
        case Literal(list(values)):
            return Literal([values[at] for at in kept])
        case Array(values):
            return array(tuple(values[at] for at in kept))
        case Ref(of, path) if path.count(EVERY) <= 1:
            where = path.index(EVERY) if EVERY in path else len(path)
            before, behind = path[:where], path[where + 1 :]
            return Array(tuple(Ref(of, (*before, at, *behind)) for at in kept))
        case _:
            raise CannotRun(
                f"The items of step {step!r} come from several lists, so a plan cannot name each.",
                f"`--deny {step}` refuses them all.",
            )


def _compiled(setup: Setup, journal: Store, name: str, plan: Plan) -> ExecutionPlan:
    document = dump(replace(plan, metadata={**plan.metadata, "instead_of": name}))
    policy = Policy.from_json(journal.record(name).policy)
    compiled = replace(setup, policy=policy).compiled(json.dumps(document), "toolplan")
    if compiled.plan is None:
        reason = next(each.message for each in compiled.diagnostics if each.blocks)
        raise CannotRun(f"The plan without these calls does not pass its check: {reason}")
    if needs_no_approval(compiled.plan):
        raise CannotRun("The plan without these calls would run unasked; run it as a new one.")
    return compiled.plan


def _end(journal: Store, name: str, items: LeftOut, new: str, at: float) -> None:
    """End the run that waited: another one continues it."""
    calls = "; ".join(f"{step}: {', '.join(map(str, at))}" for step, at in items.items())
    failure = Failure(LEFT_OUT, f"Another plan leaves calls out ({calls}); its run is {new}.")
    lease = journal.take(name)
    try:
        steps = dict.fromkeys(step for step, _ in recover(journal.events(name)).waiting)
        ended = [
            *(StepCancelled(step, at) for step in steps),
            RunEnded(RunState.FAILED, None, at, failure),
        ]
        journal.append(lease, [*map(to_record, ended)], lease.at, sync=True, status=RunState.FAILED)
    finally:
        journal.release(lease)


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
