"""The rules of order: cycles, and steps that wait, are skipped or are used for nothing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from toolplan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.path import Json
from toolplan.plan import Plan, Ref, map_refs, refs, step_refs, step_values
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def cycle(context: PlanContext) -> Iterator[Problem]:
    """Steps wait for each other in a cycle, so none of them can ever start.

    Each cycle is reported once, by its shortest form, beginning with the step that is written
    first; an arrow means "waits for". A step that waits only for itself is a `self-reference`.

    How to fix: remove one of the references that close the cycle.
    """
    if _is_in_order(context):
        return
    for group in _groups(context.needs):
        steps = _shortest(context, group)
        yield Problem(
            f"These steps wait for each other: {' → '.join([*steps, steps[0]])}.",
            f"/steps/{context.positions[steps[0]]}",
            steps[0],
            "Remove one of the references or `after` entries that close the cycle.",
        )


def _is_in_order(context: PlanContext) -> bool:
    """Return whether each step is written after what it needs, as in most plans."""
    positions = context.positions
    for use in context.uses:
        if positions.get(use.ref.step, -1) >= use.position:
            return False
    return all(
        positions.get(name, -1) < position
        for position, step in context.elaborate
        for name in step.after
    )


def _groups(needs: Mapping[str, tuple[str, ...]]) -> Iterator[frozenset[str]]:
    """Yield each set of steps that all wait for each other (Tarjan 1972, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in needs:
        if root in number:
            continue
        work = [(root, iter(needs[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            step, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[step])
                if low[step] == number[step]:
                    group = _unwind(stack, on_stack, step)
                    if len(group) > 1:
                        yield group
            elif following not in number:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(needs[following])))
            elif following in on_stack:
                low[step] = min(low[step], number[following])


def _unwind(stack: list[str], on_stack: set[str], end: str) -> frozenset[str]:
    group: list[str] = []
    while not group or group[-1] != end:
        group.append(stack.pop())
        on_stack.discard(group[-1])
    return frozenset(group)


def _shortest(context: PlanContext, group: frozenset[str]) -> list[str]:
    """Return a shortest cycle through the step of `group` that is written first."""
    start = min(group, key=context.positions.__getitem__)
    came_from: dict[str, str] = {}
    pending = deque([start])
    while pending:
        step = pending.popleft()
        for need in context.needs[step]:
            if need == start:
                steps = [step]
                while steps[-1] != start:
                    steps.append(came_from[steps[-1]])
                return steps[::-1]
            if need in group and need not in came_from:
                came_from[need] = step
                pending.append(need)
    return [start]


_BY_NUMBER = re.compile(r"s(0|[1-9][0-9]{0,8})")


def counted_from_one(context: PlanContext) -> Fix | None:
    """Return the unsafe fix that lowers all references of the plan by one.

    None where an id is not the step's number, or where some reference would then not be to an
    earlier step.
    """
    plan = context.plan
    if any(step.id != f"s{at}" for at, step in enumerate(plan.steps)):
        return None
    meant = [(use.position, _number(use.ref.step)) for use in context.uses]
    meant += [(at, _number(name)) for at, step in enumerate(plan.steps) for name in step.after]
    if not meant or any(number is None or not 1 <= number <= at for at, number in meant):
        return None
    return Fix(False, tuple(_edits(plan)))


def _number(name: str) -> int | None:
    found = _BY_NUMBER.fullmatch(name)
    return None if found is None else int(found[1])


def _edits(plan: Plan) -> Iterator[Edit]:
    for at, step in enumerate(plan.steps):
        for place, value in step_values(step):
            lower = map_refs(value, _lower)
            if lower != value:
                yield Edit(f"/steps/{at}{place}", dump_value(lower))
        if step.after:
            names: list[Json] = [_lower(Ref(name)).step for name in step.after]
            yield Edit(f"/steps/{at}/after", names)


def _lower(ref: Ref) -> Ref:
    number = _number(ref.step)
    return ref if number is None else replace(ref, step=f"s{number - 1}")


@rule()
def self_reference(context: PlanContext) -> Iterator[Problem]:
    """A step refers to itself.

    It would wait for its own end. A step that waits for itself through others is a `cycle`. If a
    plan without ids counts its steps from 1 where the dialect counts from 0, a fix that corrects
    all numbers is offered.

    How to fix: refer to another step.
    """
    reported: set[str] = set()
    for use in context.uses:
        if use.ref.step == use.step.id and use.pointer not in reported:
            fix = None if reported else counted_from_one(context)
            reported.add(use.pointer)
            yield Problem(
                f"The step {use.step.id!r} refers to its own output.",
                use.pointer,
                use.step.id,
                "Refer to an earlier step, or split this step in two.",
                fix,
            )
    for position, step in context.elaborate:
        for at, name in enumerate(step.after):
            if name == step.id:
                pointer = f"/steps/{position}/after/{at}"
                yield Problem(
                    f"The step {step.id!r} waits for itself.",
                    pointer,
                    step.id,
                    "Remove it from `after`.",
                    Fix(True, (Edit(pointer, REMOVED),)),
                )


@rule(Severity.WARNING)
def redundant_after(context: PlanContext) -> Iterator[Problem]:
    """`after` names a step that the step already refers to.

    A reference already orders the two steps. Use `after` only for order without a reference.

    How to fix: remove it from `after`.
    """
    for position, step in context.elaborate:
        if not step.after:
            continue
        shown = {ref.step for _, ref in step_refs(step)}
        for at, name in enumerate(step.after):
            if name in shown or name in step.after[:at]:
                pointer = f"/steps/{position}/after/{at}"
                yield Problem(
                    f"{step.id!r} already comes after {name!r}.",
                    pointer,
                    step.id,
                    "Remove it from `after`; a reference or another entry already orders them.",
                    Fix(False, (Edit(pointer, REMOVED),)),
                )


@rule(Severity.WARNING)
def maybe_skipped(context: PlanContext) -> Iterator[Problem]:
    """A step refers to a step that may be skipped, and is then skipped with it.

    A step whose `when` is false returns nothing, so steps that refer to it cannot run. That may be
    what you want.

    How to fix: nothing, if it is intended; otherwise use `after`, which a skipped step satisfies.
    """
    if not any(step.when for _, step in context.elaborate):
        return
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        if source is not None and source.when is not None and source.id != use.step.id:
            yield Problem(
                f"{use.step.id!r} will be skipped whenever {source.id!r} is.",
                use.pointer,
                use.step.id,
                f"{source.id!r} has a `when`. Use `after` if only the order matters.",
            )


@rule(Severity.WARNING)
def unused_step(context: PlanContext) -> Iterator[Problem]:
    """A step only reads, and nothing uses its output.

    The step neither leads to the plan's `output` nor changes anything, so its call is wasted. A
    plan without `output` returns what no step refers to, so none of its steps is unused.

    How to fix: remove the step, or name it in the output.
    """
    if context.plan.output is None:
        return
    used = {ref.step for ref in refs(context.plan.output)}
    if not used & context.steps.keys():  # it names unknown steps: another rule reports that
        return
    pending = list(used)
    while pending:
        needed = context.needs.get(pending.pop(), ())
        pending += [each for each in needed if each not in used]
        used.update(needed)
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if step.id not in used and tool is not None and not tool.has_effects:
            yield Problem(
                f"Nothing uses the output of {step.id!r}, and its tool changes nothing.",
                f"/steps/{position}",
                step.id,
                "Remove the step, or name it in the plan's output.",
                Fix(False, (Edit(f"/steps/{position}", REMOVED),)),
            )
