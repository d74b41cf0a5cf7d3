"""Deltas: what becomes of a run when its plan is replaced by another one.

What is done is frozen. A step of the new plan that makes the very call that a step of the old one
has made takes over its result and is not run again; only what is not done is added, dropped or
changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolplan.events import (
    CallIntended,
    Event,
    ItemEnded,
    StepStarted,
    StepSucceeded,
)
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import INDEX, ITEM, Plan, Ref, Step, When, map_refs, step_refs
from toolplan.plan_json import dump

_NO_PART_OF_A_STEP: Final = ("id", "thought")
_NO_PART_OF_A_CALL: Final = (
    *_NO_PART_OF_A_STEP,
    "after",
    "retries",
    "timeout_s",
    "on_error",
    "max_items",
)
"""Fields of a step that change when or how often it is tried, but not what it is asked for."""


@dataclass(frozen=True, slots=True)
class Delta:
    """How a new plan takes up what the run of an old one has done.

    Attributes:
        kept: steps of the new plan whose results are there, with the steps that gave them.
        partly: steps with `for_each` of which some items are done, likewise.
        added: steps of the new plan that make calls which no step of the old plan made.
        dropped: steps of the old plan, done or not, that the new one has no use for.
        asks: steps with effects that need leave: all that are not kept, but those that stand in
            both plans with everything that comes before them, word for word, and were not begun.
        events: what tells an engine of all that is kept, in the names of the new plan.
    """

    kept: Mapping[str, str]
    partly: Mapping[str, str]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    asks: tuple[str, ...]
    events: tuple[Event, ...]


def delta(before: ExecutionPlan, events: Sequence[Event], after: ExecutionPlan) -> Delta:
    """Return what becomes of the run of `before`, of which `events` tell, under the plan `after`.

    The tools of both plans are taken to be the same. Each step of `before` is taken up at most
    once, so that a plan that does something twice does it twice.
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
    kept, partly, same = dict[str, str](), dict[str, str](), dict[str, str]()
    for name, key in call_keys(after.plan, after.order).items():
        if not givers[key]:
            continue
        # of several that make the same call, one that is done is worth the most
        giver = min(givers[key], key=lambda each: (each not in done, each not in items))
        givers[key].remove(giver)
        same[name] = giver
        if not _reads_the_same(old[giver], new[name], kept):
            continue
        if giver in done:
            kept[name] = giver
        elif giver in items:
            partly[name] = giver
    asks: list[str] = []
    for name in after.effects:
        if name not in kept:
            if allowed[whole[name]]:
                allowed[whole[name]] -= 1
            else:
                asks.append(name)
    used = set(same.values())
    written = [step.id for step in after.plan.steps]
    return Delta(
        kept=kept,
        partly=partly,
        added=tuple(name for name in written if name not in same),
        dropped=tuple(step.id for step in before.plan.steps if step.id not in used),
        asks=tuple(asks),
        events=tuple(_renamed(events, kept, partly)),
    )


def _reads_the_same(giver: Step, taker: Step, kept: Mapping[str, str]) -> bool:
    """Whether what `taker` refers to is, result by result, what `giver` was filled with.

    Both ask for the same, so their references stand in the same order.
    """
    pairs = zip(step_refs(taker), step_refs(giver), strict=True)
    return all(
        mine.step in (ITEM, INDEX) or kept.get(mine.step) == its.step
        for (_, mine), (_, its) in pairs
    )


def left(plan: ExecutionPlan, events: Iterable[Event]) -> int:
    """Return how many steps of `plan` have not succeeded: what a further plan must make less."""
    done = {e.step for e in events if isinstance(e, StepSucceeded) and e.failure is None}
    return sum(step.id not in done for step in plan.plan.steps)


def call_keys(plan: Plan, order: Iterable[str]) -> dict[str, str]:
    """Return for each step what tells its calls from others: equal for steps that ask for the same.

    References count as the calls that they refer to, so the names of steps do not matter.
    """
    return _keys(plan, order, _NO_PART_OF_A_CALL)


def step_keys(plan: Plan, order: Iterable[str]) -> dict[str, str]:
    """Return for each step what is equal only for steps that are the same in every field that runs.

    So are then all steps that come before them, by reference or by `after`.
    """
    return _keys(plan, order, _NO_PART_OF_A_STEP)


def _keys(plan: Plan, order: Iterable[str], without: Collection[str]) -> dict[str, str]:
    steps = {step.id: step for step in plan.steps}
    keys: dict[str, str] = {}

    def renamed(ref: Ref) -> Ref:
        return ref if ref.step in (ITEM, INDEX) else Ref(keys[ref.step], ref.path)

    for name in order:
        step = steps[name]
        plain = replace(
            step,
            args={key: map_refs(value, renamed) for key, value in step.args.items()},
            after=tuple(sorted(keys[each] for each in step.after)),
            for_each=None if step.for_each is None else map_refs(step.for_each, renamed),
            when=_renamed_when(step, renamed),
        )
        keys[name] = _key(plain, without)
    return keys


def _renamed_when(step: Step, renamed: Callable[[Ref], Ref]) -> When | None:
    when = step.when
    return None if when is None else When(map_refs(when.value, renamed), when.schema)


def _key(step: Step, without: Collection[str]) -> str:
    steps: Json = dump(Plan((step,)))["steps"]
    fields: Json = steps[0] if isinstance(steps, list) else {}
    kept = {
        name: value
        for name, value in (fields.items() if isinstance(fields, dict) else ())
        if name not in without
    }
    text = json.dumps(kept, sort_keys=True)
    return "k" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _renamed(
    events: Sequence[Event], kept: Mapping[str, str], partly: Mapping[str, str]
) -> Iterable[Event]:
    """Yield what tells of steps that are kept, in the names that they have in the new plan."""
    takers = {giver: taker for taker, giver in (*kept.items(), *partly.items())}
    whole = set(kept.values())
    for event in events:
        match event:
            case StepStarted(step=giver) if giver in takers:
                yield event._replace(step=takers[giver])
            case ItemEnded(step=giver, failure=None) if giver in takers:
                yield event._replace(step=takers[giver])
            # a step of which some items are done has not ended in the new run, nor have the others
            case StepSucceeded(step=giver) | ItemEnded(step=giver) if giver in whole:
                yield event._replace(step=takers[giver])
            case _:
                pass
