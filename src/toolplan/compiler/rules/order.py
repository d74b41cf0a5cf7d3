"""The rules of order: cycles, and steps that wait, are skipped or are used for nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import REMOVED, Edit, Fix, Severity
from toolplan.plan.model import Ref, step_refs


@rule()
def cycle(context: PlanContext) -> Iterator[Problem]:
    """Steps wait for each other in a cycle, so none of them can ever start.

    Each cycle is reported once, by its shortest form, beginning with the step that is written
    first; an arrow means "waits for". A step that waits only for itself is a `self-reference`.

    How to fix: remove one of the references that close the cycle.
    """
    positions = context.positions
    read = ((use.position, use.ref.step) for use in context.uses)
    named = ((at, name) for at, step in enumerate(context.plan.steps) for name in step.after)
    if all(positions.get(name, -1) < at for at, name in chain(read, named)):
        return  # each step is written after what it needs, as in most plans
    for group in _groups(context.needs):
        steps = _shortest(context, group)
        yield Problem(
            f"These steps wait for each other: {' → '.join([*steps, steps[0]])}.",
            f"/steps/{positions[steps[0]]}",
            steps[0],
            "Remove one of the references or `after` entries that close the cycle.",
        )


def _groups(needs: Mapping[str, Sequence[str]]) -> Iterator[frozenset[str]]:
    """Yield each set of steps that all wait for each other (Kosaraju 1978)."""
    readers: dict[str, list[str]] = {step: [] for step in needs}
    for step, needed in needs.items():
        for each in needed:
            readers[each].append(step)
    seen: set[str] = set()
    ended = [step for root in needs for step in _postorder(root, needs, seen)]
    seen.clear()
    for root in reversed(ended):
        group = frozenset(_postorder(root, readers, seen))
        if len(group) > 1:
            yield group


def _postorder(root: str, following: Mapping[str, Sequence[str]], seen: set[str]) -> Iterator[str]:
    """Yield the steps that `root` leads to and that are not `seen`, in post-order."""
    pending = [(root, iter(following[root]))] if root not in seen else []
    seen.add(root)
    while pending:
        new = next((each for each in pending[-1][1] if each not in seen), None)
        if new is None:
            yield pending.pop()[0]
        else:
            seen.add(new)
            pending.append((new, iter(following[new])))


def _shortest(context: PlanContext, group: frozenset[str]) -> list[str]:
    """Return a shortest cycle through the step of `group` that is written first."""
    start = min(group, key=context.positions.__getitem__)
    came_from: dict[str, str] = {}
    pending = deque([start])
    while start not in came_from:
        step = pending.popleft()
        for need in context.needs[step]:
            if need in group and need not in came_from:
                came_from[need] = step
                pending.append(need)
    steps = [came_from[start]]
    while steps[-1] != start:
        steps.append(came_from[steps[-1]])
    return steps[::-1]


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
            fix = None if reported else _counted_from_one(context)
            reported.add(use.pointer)
            yield use.problem(
                f"The step {use.step.id!r} refers to its own output.",
                "Refer to an earlier step, or split this step in two.",
                fix,
            )
    for call in context.calls:
        for index, name in enumerate(call.step.after):
            if name == call.step.id:
                fix = Fix(True, (Edit(f"{call.pointer}/after/{index}", REMOVED),))
                message = f"The step {name!r} waits for itself."
                yield call.problem(message, f"/after/{index}", "Remove it from `after`.", fix)


def _counted_from_one(context: PlanContext) -> Fix | None:
    """Return the unsafe fix that lowers all references of the plan by one.

    None where an id is not the step's number, or where some reference would then not be to an
    earlier step.
    """
    lower: dict[str, str] = {}

    def lowered(ref: Ref) -> Ref:
        return replace(ref, step=lower[ref.step])

    edits: list[Edit] = []
    for at, (pointer, step, _) in enumerate(context.calls):
        if at:
            lower[f"s{at}"] = f"s{at - 1}"
        read = [*step_refs(step)]
        meant = {*(ref.step for _, ref in read), *step.after}
        if step.id != f"s{at}" or not lower.keys() >= meant:
            return None
        for place in dict.fromkeys(place for place, _ in read):
            edits += context.edits_of_refs(pointer + place, lowered)
        if step.after:
            edits.append(Edit(f"{pointer}/after", [lower[name] for name in step.after]))
    return Fix(False, tuple(edits))


@rule(Severity.WARNING)
def redundant_after(context: PlanContext) -> Iterator[Problem]:
    """`after` names a step that the step already refers to.

    A reference already orders the two steps. Use `after` only for order without a reference.

    How to fix: remove it from `after`.
    """
    for call in context.calls:
        step = call.step
        earlier = {ref.step for _, ref in step_refs(step)} if step.after else set[str]()
        for index, name in enumerate(step.after):
            if name in earlier:
                yield call.problem(
                    f"{step.id!r} already comes after {name!r}.",
                    f"/after/{index}",
                    "Remove it from `after`; a reference or another entry already orders them.",
                    Fix(False, (Edit(f"{call.pointer}/after/{index}", REMOVED),)),
                )
            earlier.add(name)


@rule(Severity.WARNING)
def maybe_skipped(context: PlanContext) -> Iterator[Problem]:
    """A step refers to a step that may be skipped, and is then skipped with it.

    A step whose `when` is false returns nothing, so steps that refer to it cannot run. That may be
    what you want.

    How to fix: nothing, if it is intended; otherwise use `after`, which a skipped step satisfies.
    """
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        if source is not None and source.when is not None and source.id != use.step.id:
            yield use.problem(
                f"{use.step.id!r} will be skipped whenever {source.id!r} is.",
                f"{source.id!r} has a `when`. Use `after` if only the order matters.",
            )


@rule(Severity.WARNING)
def unused_step(context: PlanContext) -> Iterator[Problem]:
    """A step only reads, and nothing uses its output.

    The step neither leads to the plan's `output` nor changes anything, so its call is wasted. A
    plan without `output` returns what no step refers to, so none of its steps is unused.

    How to fix: remove the step, or name it in the output.
    """
    used = {ref.step for _, ref in context.output_refs}
    # an output of constants only uses nothing; of unknown steps, another rule reports it
    if not used & context.steps.keys():
        return
    pending = list(used)
    while pending:
        needed = context.needs.get(pending.pop(), ())
        pending += [each for each in needed if each not in used]
        used.update(needed)
    for call in context.calls:
        if call.step.id not in used and call.tool is not None and not call.tool.has_effects:
            yield call.problem(
                f"Nothing uses the output of {call.step.id!r}, and its tool changes nothing.",
                "",
                "Remove the step, or name it in the plan's output.",
                Fix(False, (Edit(call.pointer, REMOVED),)),
            )
