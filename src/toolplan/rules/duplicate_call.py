"""The rule `duplicate-call`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator

from toolplan.diagnostics import Severity
from toolplan.plan import Array, Literal, Object, Ref, Step, Template, Value
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def duplicate_call(context: PlanContext) -> Iterator[Problem]:
    """Two steps make the same call, and the tool only reads.

    The second call returns what the first returned. Planners sometimes write dozens of such steps.

    How to fix: refer to the first step, or make the calls differ.
    """
    if len({step.tool for step in context.plan.steps}) == len(context.plan.steps):
        return
    alike: dict[Hashable, list[Step]] = {}
    first: dict[Hashable, Step] = {}
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if not step.tool or (tool is not None and tool.has_effects):
            continue
        group = alike.setdefault(_quick_key(step), [])
        group.append(step)
        if len(group) == 1:
            continue
        if len(group) == 2:
            first.setdefault(_call(group[0]), group[0])
        earlier = first.setdefault(_call(step), step)
        if earlier is not step:
            yield Problem(
                f"{step.id!r} makes the same call as {earlier.id!r}.",
                f"/steps/{position}",
                step.id,
                f"Refer to {earlier.id!r} instead.",
            )


def _quick_key(step: Step) -> Hashable:
    """Return a cheap key, equal for the same call; most steps already differ in it."""
    return step.tool, frozenset(
        (name, value.value)
        for name, value in step.args.items()
        if isinstance(value, Literal) and not isinstance(value.value, list | dict)
    )


def _call(step: Step) -> Hashable:
    """Return a key that is equal exactly for the same call."""
    args = frozenset((name, _comparable(value)) for name, value in step.args.items())
    over = None if step.for_each is None else _comparable(step.for_each)
    when = None
    if step.when is not None:
        schema = json.dumps(step.when.schema, sort_keys=True)
        when = (_comparable(step.when.value), schema)
    return (step.tool, args, over, when, frozenset(step.after))


def _comparable(value: Value) -> Hashable:
    match value:
        case Literal(dict() | list() as constant):
            return json.dumps(constant, sort_keys=True)
        case Literal(constant):
            return type(constant), constant  # 1 is not 1.0, nor true
        case Ref():
            return value
        case Template() | Array() | Object():
            return json.dumps(dump_value(value), sort_keys=True)
