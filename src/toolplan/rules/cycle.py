"""The rule `cycle`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

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
