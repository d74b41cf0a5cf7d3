"""Calls of a `for_each` that are left out of a run that waits: a new plan continues the run.

The new run takes over what is done. Until the old one is over, it makes no call that was shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from toolplan.app._decisions import LeftOut, left_out_items
from toolplan.app._setup import Setup
from toolplan.base.threads import in_thread
from toolplan.engine import CannotRun, RunOptions, deltas, no_call_waits, run
from toolplan.events import (
    CallWaiting,
    Event,
    Failure,
    RunEnded,
    RunState,
    StepCancelled,
    StepSucceeded,
    fold,
)
from toolplan.plan.canonical import dump
from toolplan.plan.model import Array, Literal, Plan, Ref, Value, array, located_refs, step_refs
from toolplan.plan.path import EVERY
from toolplan.policy import Policy
from toolplan.policy.approval import needs_no_approval
from toolplan.policy.consent import (
    Consent,
    Effect,
    ValueApproval,
    call_digest,
    effect_of,
    is_as_shown,
)
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.storage.journal import JournalError, Recovered, Slot, Store, recover, to_record

LEFT_OUT: Final = "left-out"
"""The code of the end of a run that another one, without some of its calls, continues."""


async def without_calls(
    setup: Setup,
    journal: Store,
    name: str,
    plan: ExecutionPlan,
    left_out: Sequence[str | Effect],
    consents: Mapping[str, Consent],
    options: RunOptions,
) -> tuple[str, ExecutionPlan, dict[str, Consent]]:
    """Return the run that continues `name` without `left_out`, its plan, and the consents for it.

    The run `name` is then over.
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
            approval=ValueApproval(None, shapes),
            run_id=new,
            done=deltas.delta(plan, events, other).events,
            **setup.engine_arguments(options, journal),
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
