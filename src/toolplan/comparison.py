"""What differs between two plans, whatever their steps are called.

Two plans are the same when they make the same calls with the same values under the same
conditions. Ids of steps, their order in the text, thoughts and metadata do not count.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Plan, Step, escape_pointer, needs, rename_steps, step_refs
from toolplan.plan_json import dump

_NOT_COMPARED: Final = ("id", "thought")
_MOST_COMPARED: Final = 100  # so that it takes no longer than reading the plans
_Keys: TypeAlias = Mapping[str, tuple[str, ...]]


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


class StepChange(Struct, frozen=True):
    """A step that only one plan has, or that differs. Each id is that of its own plan."""

    kind: Kind
    before: str | None
    after: str | None
    tool: str
    changes: tuple[Change, ...] = ()


class Comparison(Struct, frozen=True):
    """What differs between two plans.

    Attributes:
        steps: the steps that differ, in the order of the later plan; removed ones come last.
        output: what differs in what the plans return.
        matched: steps of the later plan, and the steps of the earlier one that they are.
    """

    steps: tuple[StepChange, ...]
    output: tuple[Change, ...]
    matched: Mapping[str, str]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.steps and not self.output

    def to_json(self) -> dict[str, Json]:
        """Return the differences as a JSON object; an absent value has no key."""
        steps: list[Json] = [
            {
                "kind": each.kind,
                **({} if each.before is None else {"before": each.before}),
                **({} if each.after is None else {"after": each.after}),
                "tool": each.tool,
                "changes": _changes_to_json(each.changes),
            }
            for each in self.steps
        ]
        return {"same": self.same, "steps": steps, "output": _changes_to_json(self.output)}


def compare_plans(before: Plan, after: Plan) -> Comparison:
    """Return what differs between two plans; the ids of their steps may differ."""
    matched = _matched(before, after)
    names = {old: f"m{at}" for at, old in enumerate(matched.values())}
    old_names = {each.id: names.get(each.id, f"b{at}") for at, each in enumerate(before.steps)}
    new_names = {
        each.id: names[matched[each.id]] if each.id in matched else f"a{at}"
        for at, each in enumerate(after.steps)
    }
    old, new = _Side.of(before, old_names), _Side.of(after, new_names)
    found: list[StepChange] = []
    for step in after.steps:
        partner = matched.get(step.id)
        if partner is None:
            changes = tuple(_changes(_bare(step), new.steps[step.id]))
            found.append(StepChange("added", None, step.id, step.tool, changes))
            continue
        changes = tuple(_changes(old.steps[partner], new.steps[step.id]))
        if changes:
            found.append(StepChange("changed", partner, step.id, step.tool, changes))
    left = set(matched.values())
    found += [
        StepChange(
            "removed", each.id, None, each.tool, tuple(_changes(old.steps[each.id], _bare(each)))
        )
        for each in before.steps
        if each.id not in left
    ]
    return Comparison(tuple(found), tuple(_changes(old.output, new.output)), matched)


class _Both(NamedTuple):
    """A value as it is written, and the same with step ids that both plans share."""

    written: Json | Absent
    shared: Json | Absent


class _Side(Struct, frozen=True):
    """One of the two plans."""

    steps: Mapping[str, _Both]
    output: _Both

    @classmethod
    def of(cls, plan: Plan, names: Mapping[str, str]) -> _Side:
        shared = rename_steps(plan, names)
        documents = zip(_documents(plan), _documents(shared), strict=True)
        return cls(
            {step.id: _Both(*both) for step, both in zip(plan.steps, documents, strict=True)},
            _Both(_output(plan), _output(shared)),
        )


def _bare(step: Step) -> _Both:
    """Return the call of a tool without anything else."""
    call: Json = {"tool": step.tool, "args": {}}
    return _Both(call, call)


def _documents(plan: Plan) -> Iterator[Json]:
    """Yield what is compared of each step; `after` is sorted, since its order says nothing."""
    for step in plan.steps:
        document: Json = dump(Plan((step,)))["steps"]
        fields = document[0] if isinstance(document, list) else None
        if isinstance(fields, dict):
            kept: dict[str, Json] = {"args": {}}
            kept |= {name: value for name, value in fields.items() if name not in _NOT_COMPARED}
            if step.after:
                kept["after"] = [*sorted(step.after)]
            yield kept


def _output(plan: Plan) -> Json | Absent:
    return ABSENT if plan.output is None else dump(Plan((), plan.output))["output"]


# Steps are matched in rounds: those that make the same call for the same steps and need matched
# steps; those that make the same call for the same steps; those that make the same call; those of
# one tool that are most alike. The first round keeps equal calls apart: each is matched together
# with the steps that need it.


def _matched(before: Plan, after: Plan) -> dict[str, str]:
    """Return steps of `after`, each with the step of `before` that it is."""
    old, new = _keys(before), _keys(after)
    found: dict[str, str] = {}
    _pair_with_needs(before, after, old, new, found)
    _pair(before, after, old, new, found)
    calls, new_calls = ({s: key[:1] for s, key in keys.items()} for keys in (old, new))
    _pair(before, after, calls, new_calls, found)
    taken = set(found.values())
    free = defaultdict[str, list[Step]](list)
    for step in before.steps:
        if step.id not in taken:
            free[step.tool].append(step)
    for step in after.steps:
        if step.id not in found:
            alike = free[step.tool]
            if alike:
                best = max(alike[:_MOST_COMPARED], key=partial(_likeness, step))
                alike.remove(best)
                found[step.id] = best.id
    return {step.id: found[step.id] for step in after.steps if step.id in found}


def _pair_with_needs(
    before: Plan, after: Plan, old: _Keys, new: _Keys, found: dict[str, str]
) -> None:
    """Add steps of the same key whose needs are matched with each other to `found`."""
    waiting = defaultdict[tuple[tuple[str, ...], frozenset[str | None]], deque[str]](deque)
    for step in before.steps:
        waiting[old[step.id], frozenset(needs(step))].append(step.id)
    for step in _in_order({step.id: step for step in after.steps}):
        alike = waiting[new[step.id], frozenset(found.get(name) for name in needs(step))]
        if alike:
            found[step.id] = alike.popleft()


def _pair(before: Plan, after: Plan, old: _Keys, new: _Keys, found: dict[str, str]) -> None:
    """Add steps of the same key to `found`, in the order in which they are written."""
    taken = set(found.values())
    waiting = defaultdict[tuple[str, ...], deque[str]](deque)
    for step in before.steps:
        if step.id not in taken:
            waiting[old[step.id]].append(step.id)
    for step in after.steps:
        if step.id not in found and waiting[new[step.id]]:
            found[step.id] = waiting[new[step.id]].popleft()


def _likeness(one: Step, other: Step) -> tuple[int, bool]:
    same = sum(name in other.args and other.args[name] == value for name, value in one.args.items())
    return same, one.id == other.id


def _keys(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return, for each step, a key of its call with all that it needs, and one of who needs it."""
    steps = {step.id: step for step in plan.steps}
    calls: dict[str, str] = {}
    for step in _in_order(steps):
        known = {name: calls.get(name, "unknown") for name in needs(step)}
        renamed = rename_steps(Plan((replace(step, id="it", thought=None),)), known)
        calls[step.id] = _digest(next(_documents(renamed)))
    users = defaultdict[str, list[Json]](list)
    found: dict[str, tuple[str, ...]] = {}
    for step in reversed(_in_order(steps)):
        users_key = _digest(sorted(users[step.id], key=str))
        found[step.id] = (calls[step.id], users_key)
        uses = [(pointer, ref.step) for pointer, ref in step_refs(step)]
        for pointer, name in (*uses, *(("/after", name) for name in step.after)):
            users[name].append([pointer, calls[step.id], users_key])
    return found


def _in_order(steps: Mapping[str, Step]) -> list[Step]:
    """Return the steps, each after those that it needs; as they are written in a cycle."""
    ahead = {name: [n for n in needs(step) if n in steps] for name, step in steps.items()}
    try:
        return [steps[name] for name in TopologicalSorter(ahead).static_order()]
    except CycleError:
        return list(steps.values())


def _digest(document: Json) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _changes(before: _Both, after: _Both, pointer: str = "") -> Iterator[Change]:
    """Yield the smallest values that differ; lists of different lengths differ as a whole."""
    if _is_same(before.shared, after.shared):
        return
    match before.written, after.written:
        case dict(), dict():
            for key in dict.fromkeys([*before.written, *after.written]):
                yield from _changes(
                    _part(before, key), _part(after, key), f"{pointer}/{escape_pointer(key)}"
                )
        case list(), list() if len(before.written) == len(after.written):
            for at in range(len(before.written)):
                yield from _changes(_part(before, at), _part(after, at), f"{pointer}/{at}")
        case _:
            yield Change(pointer, before.written, after.written)


def _part(both: _Both, key: str | int) -> _Both:
    return _Both(_at(both.written, key), _at(both.shared, key))


def _at(value: Json | Absent, key: str | int) -> Json | Absent:
    match value, key:
        case dict(), str():
            return value.get(key, ABSENT)
        case list(), int():
            return value[key]
        case _:
            return ABSENT


def _is_same(one: Json | Absent, other: Json | Absent) -> bool:
    # as JSON: 1 and true differ, and so do 1 and 1.0
    if isinstance(one, Absent) or isinstance(other, Absent):
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _changes_to_json(changes: Iterable[Change]) -> Json:
    return [
        {
            "pointer": each.pointer,
            **({} if isinstance(each.before, Absent) else {"before": each.before}),
            **({} if isinstance(each.after, Absent) else {"after": each.after}),
        }
        for each in changes
    ]
