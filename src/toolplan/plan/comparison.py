"""The differences between two plans, independent of the ids of their steps.

Two plans are the same when they make the same calls with the same values under the same
conditions. Ids of steps, their order in the text, thoughts and metadata do not count.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.canonical import dump
from toolplan.plan.model import Literal as Value
from toolplan.plan.model import Plan, Step, join_pointer, needs, rename_steps, step_refs
from toolplan.plan.path import Json

_MOST_COMPARED: Final = 100  # so that it takes no longer than reading the plans


class Absent:
    """There is no value here: not even null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
Kind: TypeAlias = Literal["added", "removed", "changed"]


class Change(NamedTuple):
    """One value that differs. `pointer` is a JSON pointer into the step, or into the output."""

    pointer: str
    before: Json | Absent
    after: Json | Absent

    def to_json(self) -> Json:
        """Return the change as a JSON object; an absent value has no key."""
        values = {"before": self.before, "after": self.after}
        present = {name: each for name, each in values.items() if not isinstance(each, Absent)}
        return {"pointer": self.pointer, **present}


class StepChange(Struct, frozen=True):
    """A step that only one plan has, or that differs. Each id is that of its own plan."""

    kind: Kind
    before: str | None
    after: str | None
    tool: str
    changes: tuple[Change, ...] = ()


class Comparison(Struct, frozen=True):
    """The differences between two plans.

    Attributes:
        steps: the steps that differ, in the order of the later plan; removed ones come last.
        output: the differences between the outputs of the plans.
        matched: steps of the later plan, each with its counterpart in the earlier one.
    """

    steps: tuple[StepChange, ...]
    output: tuple[Change, ...]
    matched: Mapping[str, str]

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.steps and not self.output

    def to_json(self) -> dict[str, Json]:
        """Return the differences as a JSON object; an absent value has no key."""
        steps: list[Json] = [
            {
                "kind": each.kind,
                **({} if each.before is None else {"before": each.before}),
                **({} if each.after is None else {"after": each.after}),
                "tool": each.tool,
                "changes": [change.to_json() for change in each.changes],
            }
            for each in self.steps
        ]
        output: list[Json] = [change.to_json() for change in self.output]
        return {"same": self.same, "steps": steps, "output": output}


def compare_plans(before: Plan, after: Plan) -> Comparison:
    """Return the differences between two plans; the ids of their steps may differ."""
    matched = _matched(before, after)
    names = {old: new for new, old in matched.items()}
    others = {step.id: f"-{step.id}" for step in before.steps}  # no id begins so
    renamed = rename_steps(before, others | names)
    old = {
        step.id: (_compared(step), _compared(other))
        for step, other in zip(before.steps, renamed.steps, strict=True)
    }
    found: list[StepChange] = []
    for step in after.steps:
        partner, new = matched.get(step.id), _compared(step)
        if partner is None:
            bare = _compared(Step(step.id, step.tool))
            changes = tuple(_changes(bare, bare, new))
            found.append(StepChange("added", None, step.id, step.tool, changes))
        elif changes := tuple(_changes(*old[partner], new)):
            found.append(StepChange("changed", partner, step.id, step.tool, changes))
    for step in before.steps:
        if step.id not in names:
            changes = tuple(_changes(*old[step.id], _compared(Step(step.id, step.tool))))
            found.append(StepChange("removed", step.id, None, step.tool, changes))
    output = tuple(_changes(_output(before), _output(renamed), _output(after)))
    return Comparison(tuple(found), output, matched)


def _compared(step: Step) -> Json:
    """Return the compared fields of a step; `after` is sorted, since its order means nothing."""
    ordered = replace(step, after=tuple(sorted(step.after)), thought=None)
    (fields,) = cast("list[dict[str, Json]]", dump(Plan((ordered,)))["steps"])
    return {"args": {}, **{name: value for name, value in fields.items() if name != "id"}}


def _output(plan: Plan) -> Json | Absent:
    return ABSENT if plan.output is None else dump(Plan((), plan.output))["output"]


def _matched(before: Plan, after: Plan) -> dict[str, str]:
    """Return steps of `after`, each with its counterpart in `before`.

    They are matched in rounds: those that make the same call for the same steps and need matched
    steps; those that make the same call for the same steps; those that make the same call; those of
    one tool that are most alike. The first round keeps equal calls apart: each is matched together
    with the steps that need it.
    """
    old, new = _keys(before), _keys(after)
    found: dict[str, str] = {}
    old_needs = {step.id: (old[step.id], frozenset(needs(step))) for step in before.steps}
    _pair(
        old_needs,
        # read one by one: the counterpart of one step is part of the next one's key
        (
            (step.id, (new[step.id], frozenset(found.get(name) for name in needs(step))))
            for step in _in_order(after)
        ),
        found,
    )
    _pair(old, ((step.id, new[step.id]) for step in after.steps), found)
    calls = {name: key[0] for name, key in old.items()}
    _pair(calls, ((step.id, new[step.id][0]) for step in after.steps), found)
    taken = set(found.values())
    free = defaultdict[str, list[Step]](list)
    for step in before.steps:
        if step.id not in taken:
            free[step.tool].append(step)
    for step in after.steps:
        alike = free[step.tool]
        if step.id not in found and alike:
            args = step.args.items()
            best = max(
                alike[:_MOST_COMPARED],
                key=lambda one: (sum(one.args.get(k) == v for k, v in args), one.id == step.id),
            )
            alike.remove(best)
            found[step.id] = best.id
    return {step.id: found[step.id] for step in after.steps if step.id in found}


def _pair(
    before: Mapping[str, Hashable],
    after: Iterable[tuple[str, Hashable]],
    found: dict[str, str],
) -> None:
    """Add steps of `after` and steps of the same key, in the order of `before`, to `found`."""
    taken = set(found.values())
    waiting = defaultdict[Hashable, deque[str]](deque)
    for name, key in before.items():
        if name not in taken:
            waiting[key].append(name)
    for name, key in after:
        if name not in found and (alike := waiting[key]):
            found[name] = alike.popleft()


def _keys(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return for each step a key of its call and the calls that it needs, and one of its users."""
    ordered = _in_order(plan)
    calls: dict[str, str] = {}
    for step in ordered:
        known = {name: calls.get(name, "unknown") for name in needs(step)}
        (renamed,) = rename_steps(Plan((replace(step, id="it"),)), known).steps
        calls[step.id] = _digest(_compared(renamed))
    users = defaultdict[str, list[Json]](list)
    found: dict[str, tuple[str, str]] = {}
    for step in reversed(ordered):
        users_key = _digest(sorted(users[step.id], key=str))
        found[step.id] = (calls[step.id], users_key)
        for pointer, ref in step_refs(step):
            users[ref.step].append([pointer, calls[step.id], users_key])
        for name in step.after:
            users[name].append(["/after", calls[step.id], users_key])
    return found


def _in_order(plan: Plan) -> list[Step]:
    """Return the steps, each after those that it needs; as they are written if there is a cycle."""
    steps = {step.id: step for step in plan.steps}
    ahead = {name: [n for n in needs(step) if n in steps] for name, step in steps.items()}
    try:
        return [steps[name] for name in TopologicalSorter(ahead).static_order()]
    except CycleError:
        return list(steps.values())


def _digest(document: Json) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _changes(
    written: Json | Absent, renamed: Json | Absent, after: Json | Absent, *path: str | int
) -> Iterator[Change]:
    """Yield the smallest parts in which `renamed` and `after` differ.

    The old values are those `written`, which differ from `renamed` in ids of steps only. Lists of
    different lengths differ as a whole.
    """
    match written, renamed, after:
        case dict(), dict(), dict():
            for key in dict.fromkeys([*renamed, *after]):
                old, one, other = (each.get(key, ABSENT) for each in (written, renamed, after))
                yield from _changes(old, one, other, *path, key)
        case list(), list(), list() if len(renamed) == len(after):
            for at, (old, one, other) in enumerate(zip(written, renamed, after, strict=True)):
                yield from _changes(old, one, other, *path, at)
        case (_, Absent(), _) | (_, _, Absent()):
            if renamed is not after:
                yield Change(join_pointer(path), written, after)
        case _:
            if Value(renamed) != Value(after):
                yield Change(join_pointer(path), written, after)
