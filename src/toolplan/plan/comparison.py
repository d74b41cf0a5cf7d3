"""What differs between two plans, whatever their steps are called.

Two plans are the same when they make the same calls with the same values under the same
conditions. Ids of steps, their order in the text, thoughts and metadata do not count.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.canonical import dump
from toolplan.plan.model import Plan, Step, escape_pointer, needs, rename_steps, step_refs
from toolplan.plan.path import Json, NotThere, Path, select

_OUTPUT: Final = None
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
    shared = {old: f"m{at}" for at, old in enumerate(matched.values())}
    old = _documents(before, shared, "b")
    new = _documents(after, {name: shared[partner] for name, partner in matched.items()}, "a")
    found: list[StepChange] = []
    for step in after.steps:
        partner = matched.get(step.id)
        changes = _changes(_bare(step) if partner is None else old[partner], new[step.id])
        if partner is None:
            found.append(StepChange("added", None, step.id, step.tool, changes))
        elif changes:
            found.append(StepChange("changed", partner, step.id, step.tool, changes))
    for step in before.steps:
        if step.id not in shared:
            changes = _changes(old[step.id], _bare(step))
            found.append(StepChange("removed", step.id, None, step.tool, changes))
    return Comparison(tuple(found), _changes(old[_OUTPUT], new[_OUTPUT]), matched)


class _Document(NamedTuple):
    """A value as it is written, and the same with step ids that both plans share."""

    written: Json | Absent
    shared: Json | Absent


def _documents(plan: Plan, shared: Mapping[str, str], prefix: str) -> dict[str | None, _Document]:
    """Return what is compared of each step, by its id, and of the output.

    `shared` are the ids that both plans have; other steps are named by `prefix` and position.
    """
    names = {step.id: shared.get(step.id, f"{prefix}{at}") for at, step in enumerate(plan.steps)}
    renamed = rename_steps(plan, names)
    found: dict[str | None, _Document] = {_OUTPUT: _Document(_output(plan), _output(renamed))}
    for step, other in zip(plan.steps, renamed.steps, strict=True):
        found[step.id] = _Document(_compared(step), _compared(other))
    return found


def _bare(step: Step) -> _Document:
    """Return the call of a tool without anything else."""
    call: Json = {"tool": step.tool, "args": {}}
    return _Document(call, call)


def _compared(step: Step) -> Json:
    """Return what is compared of a step; `after` is sorted, since its order says nothing."""
    ordered = replace(step, after=tuple(sorted(step.after)), thought=None)
    (fields,) = cast("list[dict[str, Json]]", dump(Plan((ordered,)))["steps"])
    return {"args": {}, **{name: value for name, value in fields.items() if name != "id"}}


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

    def with_needs(step: Step) -> Hashable:
        return new[step.id], frozenset(found.get(name) for name in needs(step))

    old_needs = {step.id: (old[step.id], frozenset(needs(step))) for step in before.steps}
    _pair(old_needs, _in_order(after), with_needs, found)
    _pair(old, after.steps, lambda step: new[step.id], found)
    calls = {name: key[0] for name, key in old.items()}
    _pair(calls, after.steps, lambda step: new[step.id][0], found)
    taken = set(found.values())
    free = defaultdict[str, list[Step]](list)
    for step in before.steps:
        if step.id not in taken:
            free[step.tool].append(step)
    for step in after.steps:
        alike = free[step.tool]
        if step.id not in found and alike:
            best = max(alike[:_MOST_COMPARED], key=partial(_likeness, step))
            alike.remove(best)
            found[step.id] = best.id
    return {step.id: found[step.id] for step in after.steps if step.id in found}


def _pair(
    before: Mapping[str, Hashable],
    after: Iterable[Step],
    key: Callable[[Step], Hashable],
    found: dict[str, str],
) -> None:
    """Add steps of `after` and steps of the same key, in the order of `before`, to `found`."""
    taken = set(found.values())
    waiting = defaultdict[Hashable, deque[str]](deque)
    for name, old in before.items():
        if name not in taken:
            waiting[old].append(name)
    for step in after:
        if step.id not in found and (alike := waiting[key(step)]):
            found[step.id] = alike.popleft()


def _likeness(one: Step, other: Step) -> tuple[int, bool]:
    same = sum(name in other.args and other.args[name] == value for name, value in one.args.items())
    return same, one.id == other.id


def _keys(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return, for each step, a key of its call with all that it needs, and one of who needs it."""
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
    """Return the steps, each after those that it needs; as they are written in a cycle."""
    steps = {step.id: step for step in plan.steps}
    ahead = {name: [n for n in needs(step) if n in steps] for name, step in steps.items()}
    try:
        return [steps[name] for name in TopologicalSorter(ahead).static_order()]
    except CycleError:
        return list(steps.values())


def _digest(document: Json) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _changes(before: _Document, after: _Document) -> tuple[Change, ...]:
    return tuple(
        Change(
            "".join(f"/{escape_pointer(str(key))}" for key in path),
            _at(before.written, path),
            _at(after.written, path),
        )
        for path in _differing(before.shared, after.shared)
    )


def _differing(one: Json | Absent, other: Json | Absent, *path: str | int) -> Iterator[Path]:
    """Yield the smallest parts that differ; lists of different lengths differ as a whole."""
    if _is_same(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _differing(one.get(key, ABSENT), other.get(key, ABSENT), *path, key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from _differing(*pair, *path, at)
    else:
        yield path


def _at(value: Json | Absent, path: Path) -> Json | Absent:
    try:
        return value if isinstance(value, Absent) else select(value, path)
    except NotThere:
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
