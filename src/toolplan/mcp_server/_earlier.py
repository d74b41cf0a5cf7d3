"""What a plan takes from earlier runs: results that it names, and steps that it repeats.

`${run:NAME.step.path}` becomes a reference to a copy of that step, with all steps before it, whose
results are taken from the journal. So the check, the labels of trust and a resumed run know them
as what they are, and no call is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app import resume as resuming
from toolplan.app.app import App
from toolplan.engine import CannotRun, deltas
from toolplan.events import Event, StepSucceeded, fold
from toolplan.mcp_server._reports import CallRefused, shape
from toolplan.plan.canonical import EARLIER
from toolplan.plan.model import Plan, Ref, Step, map_plan_refs, rename_steps, step_refs
from toolplan.plan.model import refs as refs_in
from toolplan.plan.path import NotThere, print_path, select
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.runs_view import SHORT
from toolplan.storage.journal import Store

_MOST_NAMED: Final = 20
_MOST_ID: Final = 64


class Taken(Struct, frozen=True):
    """Results of earlier runs: their events, and the steps of the plan that are over with them.

    `partly` are those of which some items are done. `copies` has, for each run, the steps that
    stand for results of its own.
    """

    events: tuple[Event, ...] = ()
    steps: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()
    copies: Mapping[str, Mapping[str, str]] = {}

    def touches(self, effects: Iterable[str]) -> bool:
        """Return whether some of the steps with `effects` are done, or some of their items."""
        return not (self.steps | self.partly).isdisjoint(effects)


NOTHING: Final = Taken()


class _Earlier(Struct, frozen=True):
    """A run of the journal, with its plan as these tools understand it."""

    name: str
    plan: ExecutionPlan
    events: tuple[Event, ...]


def with_earlier(plan: Plan, app: App) -> tuple[Plan, Taken]:
    """Return `plan` with copies of the earlier steps that it refers to, and their results.

    Raises:
        CallRefused: a reference names no result that is there.
    """
    found = [ref for step in plan.steps for _, ref in step_refs(step)]
    found += () if plan.output is None else refs_in(plan.output)
    refs = [ref for ref in found if ref.step.startswith(EARLIER)]
    copies: dict[str, dict[str, str]] = {}
    by_run: dict[str, dict[str, str]] = {}
    ids = {step.id for step in plan.steps}
    steps: list[Step] = []
    events: list[Event] = []
    for start in dict.fromkeys(ref.step for ref in refs):
        run, names = _run(app, start.removeprefix(EARLIER)), copies.setdefault(start, {})
        for ref in refs:
            for each in _before(run, _checked(run, ref)) if ref.step == start else ():
                if each not in names:
                    names[each] = _new_id(run, each, ids)
                    ids.add(names[each])
        of_run = {copy: of for of, copy in names.items()}
        renamed = rename_steps(run.plan.plan, names).steps
        steps += [replace(each, after=()) for each in renamed if each.id in of_run]
        by_run.setdefault(run.name, {}).update(of_run)
        events += deltas.taken_over(run.events, of_run, {})

    def changed(ref: Ref) -> Ref:
        names = copies.get(ref.step)
        return ref if names is None else Ref(names[str(ref.path[0])], ref.path[1:])

    whole = map_plan_refs(plan, changed)
    over = frozenset(copy for of_run in by_run.values() for copy in of_run)
    taken = Taken(tuple(events), over, copies=by_run)
    return replace(whole, steps=(*whole.steps, *steps)), taken


def repeated(plan: ExecutionPlan, start: str, app: App, known: Taken) -> Taken:
    """Return `known`, and the results of the run `start` for steps of `plan` with the same calls.

    Raises:
        CallRefused: there is no such run, or its tools have changed.
    """
    run = _run(app, start)
    change = deltas.delta(run.plan, run.events, plan, known.copies.get(run.name, {}))
    events = [each for each in change.events if getattr(each, "step", "") not in known.steps]
    return replace(
        known,
        events=(*known.events, *events),
        steps=known.steps.union(change.kept),
        partly=frozenset(change.partly) - known.steps,
    )


def _run(app: App, start: str) -> _Earlier:
    journal: Store = app.needed_journal()
    try:
        name = journal.find(start)
        plan = resuming.plan_in(journal.record(name), app.tools, app.limits)
        digest = journal.entry(name).digest
        if plan.digest != digest:
            raise CannotRun("Its tools or the policy have changed since.")
        return _Earlier(name, plan, tuple(journal.events(name)))
    except CannotRun as error:
        said = f"Results of the run {start!r} cannot be used: {error}"
        raise CallRefused("cannot-run", said, "Call the tools again.") from None


def _checked(run: _Earlier, ref: Ref) -> str:
    """Return the step of `run` that `ref` is about, whose result has what it names."""
    results = fold(run.events).steps
    done = {e.step for e in run.events if isinstance(e, StepSucceeded) and e.failure is None}
    shown = f"${{{ref.step}{print_path(ref.path)}}}"
    step = ref.path[0] if ref.path else None
    if not isinstance(step, str) or step not in done:
        named = ", ".join([each for each in results if each in done][:_MOST_NAMED])
        said = f"The run has no result for {shown}."
        raise _unknown(said, f"It has results of: {named or 'no step'}.")
    value = results[step].output
    try:
        select(value, ref.path[1:])
    except NotThere as error:
        said = f"The run has nothing for {shown}: {error}."
        raise _unknown(said, f"{step}: {shape(value)}.") from None
    missing = [each for each in _before(run, step) if each not in done]
    if missing:
        said = f"{shown} depends on {missing[0]!r}, which has no result."
        raise _unknown(said, "Call the tools again.")
    return step


def _unknown(said: str, help: str) -> CallRefused:
    return CallRefused("unknown-path", said, help)


def _before(run: _Earlier, step: str) -> tuple[str, ...]:
    """Return `step` and all steps that its result depends on."""
    steps = {each.id: each for each in run.plan.plan.steps}
    found = [step]
    for name in found:  # which grows
        before = (ref.step for _, ref in step_refs(steps[name]))
        found += [each for each in dict.fromkeys(before) if each in steps and each not in found]
    return tuple(found)


def _new_id(run: _Earlier, step: str, ids: set[str]) -> str:
    name = f"{run.name[:SHORT]}-{step}"[:_MOST_ID]
    others = (f"{run.name[:SHORT]}-{number}" for number in count(1))
    return name if name not in ids else next(each for each in others if each not in ids)
