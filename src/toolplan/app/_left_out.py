"""Some items of a `for_each` left out of a run that waits: another plan, which continues the run.

The new run takes over what is done. Until the old one is over, it makes no call that was shown.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan import deltas
from toolplan.app import _decisions
from toolplan.app._approve import Approve, ByPlan, by_values
from toolplan.app._decisions import LeftOut
from toolplan.app._loop import Loop, Setup
from toolplan.app._runs import Start, continue_run, start_run
from toolplan.app.results import AskResult
from toolplan.approval import Approver, needs_no_approval
from toolplan.compiler import compile_plan
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
from toolplan.path import EVERY, Json
from toolplan.plan import Array, Literal, Plan, Ref, Step, Value, array, located_refs, step_refs
from toolplan.plan_json import dump
from toolplan.storage.journal import JournalError, Recovered, Slot, Store, recover, to_record
from toolplan.threads import in_thread
from toolplan.tools import on_day


class Heard:
    """Asks an approver, and keeps which calls are to be left out, and which are made then."""

    def __init__(self, approve: Approve | None, *, is_kept: bool) -> None:
        """Ask `approve`; `is_kept` says whether the run is in a journal."""
        self._is_kept = is_kept
        self.approve = self._hearing(approve)
        """What a run takes as its approver."""
        self.left_out: list[Effect] = []
        self.allowed: list[Effect] = []

    def take(self) -> tuple[list[Effect], list[Effect]]:
        """Return the calls that are left out and those that are made, and forget them."""
        left_out, allowed = self.left_out, self.allowed
        self.left_out, self.allowed = [], []
        return left_out, allowed

    def _hearing(self, approve: Approve | None) -> Approve | None:
        if isinstance(approve, ByPlan):
            choose = approve.choose

            def chosen(plan: ExecutionPlan) -> Approver | ValueApproval:
                return self._chosen(choose(plan))

            return replace(approve, choose=chosen)
        values = by_values(approve)
        return approve if values is None else self._chosen(values)

    def _chosen(self, given: Approver | ValueApproval) -> Approver | ValueApproval:
        if not isinstance(given, ValueApproval) or given.decide is None:
            return given
        decide = given.decide

        async def asked(effects: tuple[Effect, ...]) -> Mapping[str, Answer] | None:
            return await self._ask(decide, effects)

        return replace(given, decide=asked)

    async def _ask(
        self, decide: Decide, effects: tuple[Effect, ...]
    ) -> Mapping[str, Answer] | None:
        waiting = {each.step for each in self.left_out}
        new = tuple(each for each in effects if each.step not in waiting)
        if not new:
            return None
        asked = decide(new)
        given = await asked if inspect.isawaitable(asked) else asked
        answers: dict[str, Answer] = {}
        for step in dict.fromkeys(each.step for each in new):
            calls = tuple(each for each in new if each.step == step)
            answer = given.get(step) if isinstance(given, Mapping) else given
            if isinstance(answer, LeaveOut):
                answer = self._keep(step, calls, answer)
            answers[step] = answer
        return answers

    def _keep(self, step: str, calls: tuple[Effect, ...], answer: LeaveOut) -> Answer:
        """Keep which calls are left out; return the answer for this run."""
        items = {each.item for each in calls}
        unknown = [each for each in answer.items if each not in items or isinstance(each, bool)]
        if unknown or None in items:
            raise ToolplanError("bad-answer", f"No call {unknown} of step {step!r} waits.")
        if not answer.items:
            return True
        if len(set(answer.items)) == len(items):
            return False
        if not self._is_kept:
            raise ToolplanError(
                "bad-answer",
                f"Calls of {step!r} are to be left out, and this run is in no journal.",
                "The remaining calls become a new plan that reuses finished steps: keep runs.",
            )
        for each in calls:
            (self.left_out if each.item in answer.items else self.allowed).append(each)
        return None


LEFT_OUT: Final = "left-out"
"""The code of the end of a run that another one, without some of its items, continues."""
NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


class Continued(Struct, frozen=True):
    """The run that continues another one, and what is decided about its calls."""

    run: str
    plan: ExecutionPlan
    consents: dict[str, Consent]


async def started(
    setup: Setup, plan: ExecutionPlan, run_id: str | None, journal: Store | None, start: Start
) -> tuple[ExecutionPlan, Run]:
    """Run a plan, or without calls that an approver leaves out another one; see `App.run`."""
    heard = Heard(start.approve, is_kept=journal is not None)
    start = replace(start, approve=heard.approve)
    ended = await start_run(setup, plan, run_id, journal, start)
    return await continued(setup, journal, plan, ended, heard, start)


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
    heard = Heard(start.approve, is_kept=True)
    start = replace(start, approve=heard.approve)
    plan, ended = await _resumed(setup, journal, name, plan, decided, left_out, start)
    return await continued(setup, journal, plan, ended, heard, start)


async def continued(
    setup: Setup,
    journal: Store | None,
    plan: ExecutionPlan,
    ended: Run,
    heard: Heard,
    start: Start,
) -> tuple[ExecutionPlan, Run]:
    """Return the run that continues one whose approver has left calls out; else the run itself."""
    while heard.left_out and journal is not None and ended.status is RunState.WAITING:
        left_out, allowed = heard.take()
        consents = _decisions.consents_of(allowed, (), "")
        plan, ended = await _resumed(
            setup, journal, ended.run, plan, (NO_DECISIONS, consents), left_out, start
        )
    return plan, ended


async def _resumed(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    decided: tuple[Mapping[Slot, Decided], Mapping[str, Consent]],
    left_out: Sequence[str | Effect],
    start: Start,
) -> tuple[ExecutionPlan, Run]:
    decisions, consents = decided
    if left_out:
        other = await without_items(setup, journal, name, plan, left_out, consents, start)
        name, plan, consents = other.run, other.plan, other.consents
    return plan, await continue_run(setup, plan, name, journal, decisions, consents, start)


async def answered(loop: Loop, asked: AskResult, start: Start) -> AskResult:
    """Answer a question; where calls are left out, with the run that continues without them."""
    setup, heard = loop.setup, Heard(start.approve, is_kept=loop.journal is not None)
    start = replace(start, approve=heard.approve)
    with on_day(start.day):
        asked = await replace(loop, approve=heard.approve).answer(asked)
    if asked.run is None or asked.compiled is None or asked.compiled.plan is None:
        return asked
    before, first = asked.compiled.plan, asked.run
    plan, ended = await continued(setup, loop.journal, before, first, heard, start)
    if ended is first:
        return asked
    compiled = asked.compiled._replace(plan=plan)
    return replace(asked, compiled=compiled, run=ended, answer=setup.answer(plan, ended))


async def without_items(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    left_out: Sequence[str | Effect],
    consents: Mapping[str, Consent],
    start: Start,
) -> Continued:
    """Return the run that continues `name` without the calls of `left_out`; `name` is then over.

    Raises:
        CannotRun: there is no such call that waits, or the plan cannot be written without it.
    """
    items = _decisions.left_out_items(left_out)
    events = await in_thread(journal.events, name)
    recovered = recover(events)
    _check_waits(name, events, recovered, items, consents)
    other = await in_thread(_compiled, setup, journal, name, _narrowed(plan.plan, recovered, items))
    new = hashlib.sha256(f"{name} {other.digest}".encode()).hexdigest()[:32]
    shapes = () if recovered.staged is None else recovered.staged.shapes
    if not await in_thread(_is_known, journal, new):
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
    await in_thread(_end, journal, name, items, new, setup.clock())
    waiting = recover(await in_thread(journal.events, new)).waiting
    given = _same_calls(consents, recovered, items, new)
    same = {
        step: consent
        for step, consent in given.items()
        if {item: each.digest for (of, item), each in waiting.items() if of == step}
        == consent.calls
    }
    return Continued(new, other, same)


def _check_waits(
    name: str,
    events: Sequence[Event],
    recovered: Recovered,
    items: LeftOut,
    consents: Mapping[str, Consent],
) -> None:
    """Check that all that is decided is about calls that wait, and nothing is left half done."""
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
    for step, consent in consents.items():
        if not _count(recovered, step):
            raise no_call_waits(f"of step {step!r}")
        _check_shown(name, recovered, step, consent.calls or {})
    for step, digests in items.items():
        for item in digests:
            if (step, item) not in recovered.waiting:
                raise no_call_waits(f"{item} of step {step!r}")
        _check_shown(name, recovered, step, {at: each for at, each in digests.items() if each})
        if len(digests) == _count(recovered, step):
            raise CannotRun(
                f"All calls of step {step!r} would be left out.", f"`--deny {step}` refuses them."
            )


def _count(recovered: Recovered, step: str) -> int:
    return sum(of == step for of, _ in recovered.waiting)


def _check_shown(
    name: str, recovered: Recovered, step: str, shown: Mapping[int | None, str] | Mapping[int, str]
) -> None:
    """Check that calls wait as they were shown."""
    for item, digest in shown.items():
        waits = recovered.waiting.get((step, item))
        if waits is None or waits.digest != digest or not is_as_shown(name, effect_of(waits)):
            raise CannotRun(
                f"The call of step {step!r} that waits is not the one that was shown.",
                "`toolplan show RUN` shows the calls that wait.",
            )


# The plan


def _narrowed(plan: Plan, recovered: Recovered, items: LeftOut) -> Plan:
    """Return `plan` without some of the items of its steps.

    Raises:
        CannotRun: what is left cannot be written, or another step means an item by its place.
    """
    steps: list[Step] = []
    for step in plan.steps:
        if step.id not in items or step.for_each is None:
            steps.append(step)
            continue
        _check_places(plan, step.id)
        kept = [at for at in range(_count(recovered, step.id)) if at not in items[step.id]]
        steps.append(replace(step, for_each=_without(step.id, step.for_each, kept)))
    return replace(plan, steps=tuple(steps))


def _without(step: str, for_each: Value, kept: Sequence[int]) -> Value:
    match for_each:
        case Literal(list(values)):
            return Literal([values[at] for at in kept])
        case Array(values):
            return array(tuple(values[at] for at in kept))
        case Ref(of, path) if path.count(EVERY) == 0:
            return Array(tuple(Ref(of, (*path, at)) for at in kept))
        case Ref(of, path) if path.count(EVERY) == 1:
            where = path.index(EVERY)
            before, behind = path[:where], path[where + 1 :]
            return Array(tuple(Ref(of, (*before, at, *behind)) for at in kept))
        case _:
            raise CannotRun(
                f"The items of step {step!r} come from several lists, so a plan cannot name each.",
                f"`--deny {step}` refuses them all.",
            )


def _check_places(plan: Plan, step: str) -> None:
    """Refuse where an item of `step` is meant by its place: another one would be there."""
    found = [(f"step {each.id!r}", ref) for each in plan.steps for _, ref in step_refs(each)]
    if plan.output is not None:
        found += [("the output", ref) for _, ref in located_refs(plan.output, "/output")]
    for who, ref in found:
        if ref.step == step and ref.path and isinstance(ref.path[0], int):
            raise CannotRun(
                f"Items of step {step!r} cannot be left out: {who} refers to one by its place.",
                f"`--deny {step}` refuses them all.",
            )


def _compiled(setup: Setup, journal: Store, name: str, plan: Plan) -> ExecutionPlan:
    document: dict[str, Json] = dump(replace(plan, metadata={**plan.metadata, "instead_of": name}))
    compiled = compile_plan(
        json.dumps(document),
        tools=setup.tools,
        limits=setup.limits,
        policy=Policy.from_json(journal.record(name).policy),
        rules=setup.rules,
    )
    if compiled.plan is None:
        reason = next(each.message for each in compiled.diagnostics if each.blocks)
        raise CannotRun(f"The plan without these calls does not pass its check: {reason}")
    if needs_no_approval(compiled.plan):
        raise CannotRun("The plan without these calls would run unasked; run it as a new one.")
    return compiled.plan


# The runs


def _is_known(journal: Store, name: str) -> bool:
    try:
        journal.record(name)
    except JournalError as error:
        if error.code != "unknown-run":
            raise
        return False
    return True


def _end(journal: Store, name: str, items: LeftOut, new: str, at: float) -> None:
    """End the run that waited: another one continues it."""
    calls = "; ".join(f"{step}: {', '.join(map(str, at))}" for step, at in items.items())
    failure = Failure(LEFT_OUT, f"Another plan leaves calls out ({calls}); its run is {new}.")
    lease = journal.take(name)
    try:
        steps = dict.fromkeys(step for step, _ in recover(journal.events(name)).waiting)
        ended = [StepCancelled(step, at) for step in steps]
        records = [
            to_record(each) for each in (*ended, RunEnded(RunState.FAILED, None, at, failure))
        ]
        journal.append(lease, records, lease.at, sync=True, status=RunState.FAILED)
    finally:
        journal.release(lease)


def _same_calls(
    consents: Mapping[str, Consent],
    recovered: Recovered,
    items: LeftOut,
    new: str,
) -> dict[str, Consent]:
    """Return what is decided, bound to the very same calls of the new run."""
    found: dict[str, Consent] = {}
    for step, consent in consents.items():
        shown = sorted(
            (each for (of, _), each in recovered.waiting.items() if of == step),
            key=lambda each: each.item or 0,
        )
        kept = [each for each in shown if each.item not in items.get(step, {})]
        calls: dict[int | None, str] = {}
        for at, each in enumerate(kept):
            item = None if each.item is None else at
            calls[item] = call_digest(new, step, item, each.tool, each.args)
        found[step] = replace(consent, calls=calls)
    return found
