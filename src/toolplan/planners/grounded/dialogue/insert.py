"""Insertion: the plan of a follow-up becomes part of the previous plan.

A follow-up is planned for all things of the kind that it is about: for "only the rejected ones"
after a list of boxes, the planner is asked "Get boxes, only the rejected ones". The arguments of
that plan's list step then go to the step that listed the boxes before, and its other steps use the
output of that step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias
from typing import Literal as OneOf

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Literal, Plan, Step, Value, needs, rename_steps, sinks, step_refs
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL, Catalogue, ToolCard, Verb

_TEMPORARY: Final = "+"  # not allowed in ids of steps
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
RANGE: Final = ("range.start", "range.end")


class Anchor(Struct, frozen=True):
    """Things in the result of a plan, which a follow-up may refer to.

    Attributes:
        sink: the step whose output is shown.
        target: the step that lists the things; `sink` itself, or what `sink` computes from.
        rows: the step that returns them as rows, None where only figures about them are left.
        card: the tool of `target`.
        identity: the id of the one thing, where it was named by its id.
    """

    sink: str
    target: Step
    rows: str | None
    card: ToolCard
    identity: str | None = None


Mode: TypeAlias = OneOf["narrows", "adds", "replaces"]
"""`narrows` keeps all arguments of before, `adds` replaces arguments of the same name, `replaces`
also those that contradict the new ones."""


class Conflict(Struct, frozen=True):
    """The previous plan contradicts the follow-up: `argument` is `old` and would be `new`."""

    argument: str
    old: Json
    new: Json


def anchors(plan: Plan, catalogue: Catalogue) -> tuple[Anchor, ...]:
    """Return the things in the result of the plan, in its order."""
    steps = {step.id: step for step in plan.steps}
    found = (_anchor(sink, sink, sink, steps, catalogue) for sink in sinks(plan))
    return tuple(anchor for anchor in found if anchor is not None)


def _anchor(
    sink: str, at: str, rows: str | None, steps: Mapping[str, Step], catalogue: Catalogue
) -> Anchor | None:
    step = steps[at]
    if step.tool == SQL_TOOL:
        bases = list(dict.fromkeys(ref.step for _, ref in step_refs(step)))
        if len(bases) != 1:
            return None
        kept = bases[0] if _only_orders(step) else rows if _keeps_rows(step) else None
        return _anchor(sink, bases[0], kept, steps, catalogue)
    card = catalogue.cards.get(step.tool)
    if card is None or step.for_each is not None:
        return None
    match card.verb:
        case Verb.LIST:
            return Anchor(sink, step, rows, card)
        case Verb.GET | Verb.UPDATE:
            named = card.required[0] if len(card.required) == 1 else "id"
            identity = step.args.get(named)
            if isinstance(identity, Literal) and isinstance(identity.value, str):
                return Anchor(sink, step, rows, card, identity.value)
            return None
        case _:
            return None


def _keeps_rows(step: Step) -> bool:
    """Return whether a statement only filters and sorts rows."""
    return _statement(step).startswith("SELECT * FROM ")


def _only_orders(step: Step) -> bool:
    """Return whether a statement returns all rows of its table, in some order."""
    statement = _statement(step)
    chooses = any(
        f" {word} " in statement for word in ("WHERE", "LIMIT", "QUALIFY", "JOIN", "HAVING")
    )
    return _keeps_rows(step) and not chooses


def _statement(step: Step) -> str:
    """Return the SQL of a step in capitals; empty where it is not a literal."""
    sql = step.args.get("sql")
    return str(sql.value).upper() if isinstance(sql, Literal) else ""


def inner_anchors(plan: Plan, catalogue: Catalogue) -> tuple[Anchor, ...]:
    """Return the lists that the only result of the plan is computed from."""
    ends = sinks(plan)
    if len(ends) != 1:
        return ()
    return tuple(
        Anchor(ends[0], step, step.id, card)
        for step in plan.steps
        if step.id != ends[0]
        and step.for_each is None
        and (card := catalogue.cards.get(step.tool)) is not None
        and card.verb is Verb.LIST
    )


def insert(
    plan: Plan, anchor: Anchor, addition: Plan, mode: Mode, beside: Iterable[str] = ()
) -> Plan | Conflict | None:
    """Return `plan` with `addition` inserted at `anchor`; None where it does not fit.

    A contradiction that is not to be replaced is a `Conflict`. Other results stay in the plan only
    if their steps are in `beside`.
    """
    same = [step.id for step in addition.steps if step.tool == anchor.target.tool]
    if len(same) > 1 and len(same) == len(addition.steps):
        return _split(plan, anchor, addition, mode, beside)
    if len(same) != 1:
        return None
    root = same[0]
    before = closure(addition, [root]) - {root}
    onto = anchor.rows if anchor.rows is not None else anchor.target.id
    names = {step.id: _TEMPORARY + step.id for step in addition.steps} | {root: onto}
    renamed = rename_steps(addition, names)
    said = next(step for step in renamed.steps if step.id == onto)
    if not fits(anchor, said, plan):
        return None
    merged = _merged(anchor, said, mode)
    if isinstance(merged, Conflict):
        return merged
    ahead = [step for step in renamed.steps if step.id in {names[id_] for id_ in before}]
    behind = [step for step in renamed.steps if step.id != onto and step not in ahead]
    steps: list[Step] = []
    for step in plan.steps:
        steps.extend([*ahead, merged] if step.id == merged.id else [step])
    ends = [names[id_] for id_ in sinks(addition) if id_ != root and id_ not in before]
    grown = Plan((*steps, *behind), metadata=plan.metadata)
    roots = [*(ends or [anchor.sink]), merged.id, *beside]
    kept = closure(grown, roots)
    return _named(_shared(replace(grown, steps=tuple(s for s in grown.steps if s.id in kept))))


def cut_at(anchor: Anchor) -> Value | None:
    """Return the limit of the step that lists the things, or None."""
    limit = anchor.card.argument("limit")
    return None if limit is None else anchor.target.args.get(limit)


def is_cut_after(anchor: Anchor, plan: Plan) -> bool:
    """Return whether a statement limits the things."""
    sink = next(step for step in plan.steps if step.id == anchor.sink)
    statement = _statement(sink) if sink.tool == SQL_TOOL else ""
    return " LIMIT " in statement or " QUALIFY " in statement


def _split(
    plan: Plan, anchor: Anchor, addition: Plan, mode: Mode, beside: Iterable[str]
) -> Plan | Conflict | None:
    """List the things once for each of several values: "in a or b"."""
    if anchor.sink != anchor.target.id or any(needs(step) for step in addition.steps):
        return None
    if len({frozenset(step.args) for step in addition.steps}) > 1 or not addition.steps[0].args:
        return None  # they differ in more than one value
    parts: list[Step] = []
    for said in addition.steps:
        merged = _merged(anchor, said, mode)
        if isinstance(merged, Conflict):
            return merged
        parts.append(replace(merged, id=_TEMPORARY + said.id))
    steps: list[Step] = []
    for step in plan.steps:
        steps.extend(parts if step.id == anchor.target.id else [step])
    grown = Plan(tuple(steps), metadata=plan.metadata)
    kept = closure(grown, [*(part.id for part in parts), *beside])
    return _named(replace(grown, steps=tuple(step for step in grown.steps if step.id in kept)))


def fits(anchor: Anchor, said: Step, plan: Plan) -> bool:
    """Return whether arguments of `said` may go to the list step that `plan` computes from.

    The first three groups are not the groups of the first three things, and a share needs all
    things, not only those that it counts.
    """
    sink = next(step for step in plan.steps if step.id == anchor.sink)
    if sink.tool != SQL_TOOL:
        return True
    counted = [part.partition(" THEN ")[0] for part in _statement(sink).split("CASE WHEN ")[1:]]
    measured = {word for part in counted for word in re.findall(r"\w+", part)}
    roles = {name: shape.role for name, shape in anchor.card.arguments.items()}
    if any(roles.get(name) == "limit" for name in said.args):
        return False
    if any(roles.get(name) in RANGE for name in said.args) and _DAY.search(_statement(sink)):
        return False
    return measured.isdisjoint(name.upper() for name in said.args)


def _merged(anchor: Anchor, said: Step, mode: Mode) -> Step | Conflict:
    """Return the step that lists the things, with the new arguments."""
    card, args = anchor.card, dict(anchor.target.args)
    roles = {name: shape.role for name, shape in card.arguments.items()}
    times = [name for name in said.args if roles.get(name) in RANGE]
    if times:
        old = {name: args.pop(name, None) for name, role in roles.items() if role in RANGE}
        if mode == "narrows" and not _within(said.args, old, roles):
            name = times[0]
            return Conflict(name, _shown(old.get(name)), _shown(said.args[name]))
    for name, value in said.args.items():
        old_value = args.get(name)
        clashes = old_value is not None and old_value != value and mode == "narrows"
        if clashes and not _is_tighter(roles.get(name), old_value, value):
            return Conflict(name, _shown(old_value), _shown(value))
        opposite = _opposite(name, card)
        bound = None if opposite in said.args else args.get(opposite)
        if bound is not None and _crosses(roles[name], value, bound):
            if mode != "replaces":
                return Conflict(opposite, _shown(bound), _shown(value))
            del args[opposite]
        args[name] = value
    return replace(anchor.target, args=args)


def _opposite(name: str, card: ToolCard) -> str:
    """Return the argument for the other bound of the same number, or an empty name."""
    shape = card.arguments.get(name)
    other = {"min": "max", "max": "min"}.get((shape and shape.role) or "")
    return next(
        (
            each.name
            for each in card.arguments.values()
            if shape is not None
            and other is not None
            and each.role == other
            and each.field == shape.field
        ),
        "",
    )


def _crosses(role: str | None, value: Value, opposite: Value) -> bool:
    """Return whether no number is within both bounds."""
    one, other = _shown(value), _shown(opposite)
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        return False
    return one > other if role == "min" else one < other


def _within(
    new: Mapping[str, Value], old: Mapping[str, Value | None], roles: Mapping[str, str | None]
) -> bool:
    """Return whether the new time lies within the old one; ISO dates compare as text."""
    for name, value in old.items():
        if value is None:
            continue
        before, after = _shown(value), _shown(new.get(name))
        if not (isinstance(before, str) and isinstance(after, str)):
            return False
        if (after < before) if roles[name] == RANGE[0] else (after > before):
            return False
    return True


def _is_tighter(role: str | None, old: Value | None, new: Value) -> bool:
    """Return whether the new bound is as strict as the old one."""
    before, after = _shown(old), _shown(new)
    if not (isinstance(before, int | float) and isinstance(after, int | float)):
        return False
    return after >= before if role == "min" else role in ("max", "limit") and after <= before


def _shown(value: Value | None) -> Json:
    return value.value if isinstance(value, Literal) else None


def closure(plan: Plan, roots: Iterable[str]) -> frozenset[str]:
    """Return `roots` and all steps that they depend on."""
    steps = {step.id: step for step in plan.steps}
    found: set[str] = set()
    waiting = [*roots]
    while waiting:
        at = waiting.pop()
        if at in steps and at not in found:
            found.add(at)
            waiting.extend(needs(steps[at]))
    return frozenset(found)


def _shared(plan: Plan) -> Plan:
    """Return `plan` without new steps that repeat the call of another step."""
    for at, step in enumerate(plan.steps):
        twin = next((s for s in plan.steps if s.id != step.id and _is_same_call(s, step)), None)
        if step.id.startswith(_TEMPORARY) and twin is not None:
            rest = replace(plan, steps=(*plan.steps[:at], *plan.steps[at + 1 :]))
            return _shared(rename_steps(rest, {step.id: twin.id}))
    return plan


def _is_same_call(one: Step, other: Step) -> bool:
    return (one.tool, dict(one.args), one.for_each, one.when, one.after) == (
        other.tool, dict(other.args), other.for_each, other.when, other.after
    )  # fmt: skip


def _named(plan: Plan) -> Plan:
    """Assign ids of their own to the new steps."""
    taken = {step.id for step in plan.steps}
    names: dict[str, str] = {}
    for step in plan.steps:
        if step.id.startswith(_TEMPORARY):
            wanted = step.id.removeprefix(_TEMPORARY)
            free = (wanted, *(f"{wanted}_{n}" for n in range(2, len(plan.steps) + 2)))
            names[step.id] = next(name for name in free if name not in taken)
            taken.add(names[step.id])
    return rename_steps(plan, names)
