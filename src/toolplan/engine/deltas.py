"""Deltas: how a new plan continues the run of an old one.

A step of the new plan that makes the same call as a finished step of the old one takes over its
result and is not run again. Only unfinished steps are added, removed or changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import (
    CallIntended,
    Event,
    ItemEnded,
    StepStarted,
    StepSucceeded,
)
from toolplan.plan.canonical import dump
from toolplan.plan.model import INDEX, ITEM, Plan, Ref, Step, map_plan_refs, step_refs
from toolplan.policy.execution_plan import ExecutionPlan

_NOT_OF_STEP: Final = ("id", "thought")
_NOT_OF_CALL: Final = (*_NOT_OF_STEP, "after", "retries", "timeout_s", "on_error", "max_items")
"""Fields of a step that change when or how often it is called, but not what is called."""


class Delta(Struct, frozen=True):
    """How a new plan continues the run of an old one.

    Attributes:
        kept: steps of the new plan with results, and the old steps that gave them.
        partly: steps with `for_each` of which some items are done, likewise.
        added: steps of the new plan with calls that the old plan did not have.
        removed: steps of the old plan, done or not, that the new one does not use.
        unapproved: steps with effects that need a new approval: those that are neither kept nor
            in both plans, unchanged with everything before them, and not yet begun.
        events: the events of all that is kept, with the step ids of the new plan.
    """

    kept: Mapping[str, str]
    partly: Mapping[str, str]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    unapproved: tuple[str, ...]
    events: tuple[Event, ...]


def delta(
    before: ExecutionPlan,
    events: Sequence[Event],
    after: ExecutionPlan,
    copies: Mapping[str, str] = MappingProxyType({}),
) -> Delta:
    """Return how the plan `after` continues the run of `before` with these `events`.

    Both plans must use the same tools. Each step of `before` is used at most once, so that a plan
    that does something twice does it twice. `copies` are steps of `after` that stand for the
    result of a step of `before`, and use none.
    """
    givers = defaultdict[str, list[str]](list)
    for name, key in call_keys(before.plan, before.order).items():
        givers[key].append(name)
    done = {e.step for e in events if isinstance(e, StepSucceeded) and e.failure is None}
    begun = {e.step for e in events if isinstance(e, CallIntended)}
    allowed = Counter(
        key for name, key in step_keys(before.plan, before.order).items() if name not in begun
    )
    whole = step_keys(after.plan, after.order)
    items = {e.step for e in events if isinstance(e, ItemEnded) and e.failure is None}
    old = {step.id: step for step in before.plan.steps}
    new = {step.id: step for step in after.plan.steps}
    kept, partly, same = dict(copies), dict[str, str](), dict(copies)
    for name, key in call_keys(after.plan, after.order).items():
        if name in copies or not givers[key]:
            continue
        # of several with the same call, prefer one that is done
        giver = min(givers[key], key=lambda each: (each not in done, each not in items))
        givers[key].remove(giver)
        same[name] = giver
        if not _reads_the_same(old[giver], new[name], kept):
            continue
        if giver in done:
            kept[name] = giver
        elif giver in items:
            partly[name] = giver
    unapproved: list[str] = []
    for name in after.effects:
        if name in kept:
            continue
        if not allowed[whole[name]]:
            unapproved.append(name)
        else:
            allowed[whole[name]] -= 1
    used = set(same.values())
    return Delta(
        kept=kept,
        partly=partly,
        added=tuple(name for name in new if name not in same),
        removed=tuple(name for name in old if name not in used),
        unapproved=tuple(unapproved),
        events=tuple(taken_over(events, kept, partly)),
    )


def _reads_the_same(giver: Step, taker: Step, kept: Mapping[str, str]) -> bool:
    """Return whether `taker` refers to the very results that filled `giver`.

    Both make the same call, so their references are in the same order.
    """
    pairs = zip(step_refs(taker), step_refs(giver), strict=True)
    return all(
        mine.step in (ITEM, INDEX) or kept.get(mine.step) == its.step
        for (_, mine), (_, its) in pairs
    )


def left(plan: ExecutionPlan, events: Iterable[Event]) -> int:
    """Return how many steps of `plan` have not succeeded; each further plan must lower it."""
    done = {e.step for e in events if isinstance(e, StepSucceeded) and e.failure is None}
    return sum(step.id not in done for step in plan.plan.steps)


def call_keys(plan: Plan, order: Iterable[str]) -> dict[str, str]:
    """Return a key for each step, equal for steps that make the same call.

    A reference counts as the call that it refers to, so the ids of steps do not matter.
    """
    return _keys(plan, order, _NOT_OF_CALL)


def step_keys(plan: Plan, order: Iterable[str]) -> dict[str, str]:
    """Return a key for each step, equal for steps with the same fields and steps before them."""
    return _keys(plan, order, _NOT_OF_STEP)


def _keys(plan: Plan, order: Iterable[str], without: Collection[str]) -> dict[str, str]:
    steps = {step.id: step for step in plan.steps}
    keys: dict[str, str] = {}

    def renamed(ref: Ref) -> Ref:
        return ref if ref.step in (ITEM, INDEX) else Ref(keys[ref.step], ref.path)

    for name in order:
        step = replace(steps[name], after=tuple(sorted(keys[each] for each in steps[name].after)))
        document: Any = dump(map_plan_refs(Plan((step,)), renamed))
        kept = {key: value for key, value in document["steps"][0].items() if key not in without}
        text = json.dumps(kept, sort_keys=True).encode("utf-8", "surrogatepass")
        keys[name] = "k" + hashlib.sha256(text).hexdigest()[:40]
    return keys


def taken_over(
    events: Sequence[Event], kept: Mapping[str, str], partly: Mapping[str, str]
) -> Iterable[Event]:
    """Yield the events of the steps that another plan keeps, with their ids in that plan."""
    takers = {giver: taker for taker, giver in (*kept.items(), *partly.items())}
    whole = set(kept.values())
    for event in events:
        match event:
            case StepStarted(step=giver) | ItemEnded(step=giver, failure=None) if giver in takers:
                yield replace(event, step=takers[giver])
            # of a step with some items done, neither the step nor other items have ended
            case StepSucceeded(step=giver) | ItemEnded(step=giver) if giver in whole:
                yield replace(event, step=takers[giver])
            case _:
                pass
