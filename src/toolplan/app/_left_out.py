"""Calls of a `for_each` that are left out of a run that waits: a new plan continues the run.

The new run takes over what is done. Until the old one is over, it makes no call that was shown.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from msgspec.structs import replace

from toolplan import deltas
from toolplan.app._approve import Approve, ByPlan, by_values
from toolplan.app._decisions import LeftOut, consents_of, left_out_items
from toolplan.app._loop import Loop, Setup
from toolplan.app._runs import Start, continue_run, start_run
from toolplan.app.results import AskResult
from toolplan.approval import Approver, needs_no_approval
from toolplan.consent import (
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
from toolplan.engines import CannotRun, Decided, no_call_waits, run
from toolplan.errors import ToolplanError
from toolplan.events import (
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
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Policy
from toolplan.path import EVERY
from toolplan.plan import Array, Literal, Plan, Ref, Value, array, located_refs, step_refs
from toolplan.plan_json import dump
from toolplan.storage.journal import JournalError, Recovered, Slot, Store, recover, to_record
from toolplan.threads import in_thread
from toolplan.tools import on_day

LEFT_OUT: Final = "left-out"
"""The code of the end of a run that another one, without some of its calls, continues."""


class PartialApprovals:
    """Asks an approver, and collects the calls that it leaves out and those that it allows.

    `approve` is the approver that a run is given; it leaves a step with such an answer waiting.
    """

    def __init__(self, approve: Approve | None, *, is_kept: bool) -> None:
        """Ask `approve`; `is_kept` says whether the run is in a journal."""
        self._is_kept = is_kept
        self.approve = self._collecting(approve)
        self.left_out: list[Effect] = []
        self.allowed: list[Effect] = []

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
        decided = {each.step for each in self.left_out}
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
        if not self._is_kept:
            raise ToolplanError(
                "bad-answer",
                f"Calls of {step!r} are to be left out, and this run is in no journal.",
                "The remaining calls become a new plan that reuses finished steps: keep runs.",
            )
        for each in calls:
            (self.left_out if each.item in answer.items else self.allowed).append(each)
        return None

    async def continued(
        self, setup: Setup, journal: Store | None, plan: ExecutionPlan, ended: Run, start: Start
    ) -> tuple[ExecutionPlan, Run]:
        """Return the run that continues `ended` without the calls left out; else `ended` itself."""
        while self.left_out and journal is not None and ended.status is RunState.WAITING:
            left_out, consents = self.left_out, consents_of(self.allowed, (), "")
            self.left_out, self.allowed = [], []
            name = ended.run
            name, plan, consents = await without_calls(
                setup, journal, name, plan, left_out, consents, start
            )
            ended = await continue_run(setup, plan, name, journal, {}, consents, start)
        return plan, ended


async def started(
    setup: Setup, plan: ExecutionPlan, run_id: str | None, journal: Store | None, start: Start
) -> tuple[ExecutionPlan, Run]:
    """Run a plan, or without the calls that an approver leaves out another one; see `App.run`."""
    partly = PartialApprovals(start.approve, is_kept=journal is not None)
    start = replace(start, approve=partly.approve)
    ended = await start_run(setup, plan, run_id, journal, start)
    return await partly.continued(setup, journal, plan, ended, start)


async def resumed(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    decided: tuple[Mapping[Slot, Decided], Mapping[str, Consent]],
    left_out: Sequence[str | Effect],
    start: Start,
) -> tuple[ExecutionPlan, Run]:
    """Resume a run, or one without the calls of `left_out` that continues it; see `App.resume`."""
    decisions, consents = decided
    partly = PartialApprovals(start.approve, is_kept=True)
    start = replace(start, approve=partly.approve)
    if left_out:
        name, plan, consents = await without_calls(
            setup, journal, name, plan, left_out, consents, start
        )
    ended = await continue_run(setup, plan, name, journal, decisions, consents, start)
    return await partly.continued(setup, journal, plan, ended, start)


async def answered(loop: Loop, asked: AskResult, start: Start) -> AskResult:
    """Answer a question; where calls are left out, with the run that continues without them."""
    setup, partly = loop.setup, PartialApprovals(start.approve, is_kept=loop.journal is not None)
    start = replace(start, approve=partly.approve)
    with on_day(start.day):
        asked = await replace(loop, approve=partly.approve).answer(asked)
    if asked.run is None or asked.compiled is None or asked.plan is None:
        return asked
    plan, ended = await partly.continued(setup, loop.journal, asked.plan, asked.run, start)
    if ended is asked.run:
        return asked
    compiled = asked.compiled._replace(plan=plan)
    return replace(asked, compiled=compiled, run=ended, answer=setup.answer(plan, ended))


async def without_calls(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    left_out: Sequence[str | Effect],
    consents: Mapping[str, Consent],
    start: Start,
) -> tuple[str, ExecutionPlan, dict[str, Consent]]:
    """Return the run that continues `name` without `left_out`, its plan, and the consents for it.

    The run `name` is then over.

    Raises:
        CannotRun: there is no such call that waits, or the plan cannot be written without it.
    """
    items = left_out_items(left_out)
    events = await in_thread(journal.events, name)
    recovered = recover(events)
    _check_waits(name, events, recovered, items, consents)
    other = await in_thread(_compiled, setup, journal, name, _narrowed(plan.plan, recovered, items))
    new = hashlib.sha256(f"{name} {other.digest}".encode()).hexdigest()[:32]
    shapes = () if recovered.staged is None else recovered.staged.shapes
    try:
        await run(
            other,
            setup.tools,
            journal=journal,
            approval=ValueApproval(None, shapes),
            limits=setup.limits,
            run_id=new,
            done=deltas.delta(plan, events, other).events,
            clock=setup.clock,
            **start.options.arguments(),
        )
    except JournalError as error:
        if error.code != "run-exists":  # an earlier attempt was interrupted here
            raise
    await in_thread(_end, journal, name, items, new, setup.clock())
    waiting = recover(await in_thread(journal.events, new)).waiting
    return new, other, _transferred(consents, recovered, items, new, waiting)


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
    begun = {step for step, _ in recovered.tries}.difference(done)
    if begun:
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
                raise CannotRun(
                    f"The call of step {step!r} that waits is not the one that was shown.",
                    "`toolplan show RUN` shows the calls that wait.",
                )
        if len(items.get(step, ())) == len(waits):
            raise CannotRun(
                f"All calls of step {step!r} would be left out.", f"`--deny {step}` refuses them."
            )


# The plan


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

    def kept(step: str) -> list[int]:
        count = len(_waiting_of(recovered.waiting, step))
        return [at for at in range(count) if at not in items[step]]

    return replace(
        plan,
        steps=tuple(
            step
            if step.id not in items or step.for_each is None
            else replace(step, for_each=_only(step.id, step.for_each, kept(step.id)))
            for step in plan.steps
        ),
    )


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


# The runs


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


def _transferred(
    consents: Mapping[str, Consent],
    recovered: Recovered,
    items: LeftOut,
    new: str,
    waiting: Mapping[Slot, CallWaiting],
) -> dict[str, Consent]:
    """Return `consents` bound to the calls of the run `new`, of steps where these are the same."""
    found: dict[str, Consent] = {}
    for step, consent in consents.items():
        shown = sorted(
            _waiting_of(recovered.waiting, step).values(), key=lambda each: each.item or 0
        )
        kept = [each for each in shown if each.item not in items.get(step, {})]
        calls: dict[int | None, str] = {}
        for at, each in enumerate(kept):
            item = None if each.item is None else at
            calls[item] = call_digest(new, step, item, each.tool, each.args)
        if calls == {item: each.digest for item, each in _waiting_of(waiting, step).items()}:
            found[step] = replace(consent, calls=calls)
    return found
