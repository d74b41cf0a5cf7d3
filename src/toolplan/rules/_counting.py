"""Plans that count their steps from 1 where the dialect counts from 0.

Such a plan refers to the step after the one that is meant, and at least once to the step itself or
to one after the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from toolplan.diagnostics import Edit, Fix
from toolplan.path import Json
from toolplan.plan import Plan, Ref, map_refs, step_values
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext

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
