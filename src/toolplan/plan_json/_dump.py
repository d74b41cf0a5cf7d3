"""From a plan to canonical JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolplan.path import Json, copied
from toolplan.plan import Plan, Step
from toolplan.plan_json._load import STEP_FIELDS, VERSION
from toolplan.plan_json._values import dump_value


def dump(plan: Plan) -> dict[str, Json]:
    """Return the canonical form of `plan`: only what is not default, in a fixed order.

    The result shares nothing with the plan and may be changed.
    """
    document: dict[str, Json] = {"toolplan": VERSION, "steps": [_dump_step(s) for s in plan.steps]}
    if plan.output is not None:
        document["output"] = dump_value(plan.output)
    if plan.metadata:
        document["metadata"] = copied(dict(plan.metadata))
    return document


def _dump_step(step: Step) -> Json:
    item: dict[str, Json] = {"id": step.id, "tool": step.tool}
    for name, default in _DEFAULTS.items():
        value = getattr(step, name)
        if value != default and value != []:  # `after` may be given as a list
            item[name] = _WRITERS[name](value) if name in _WRITERS else value
    return item


def _plain_number(number: float) -> int | float:
    return int(number) if math.isfinite(number) and number == int(number) else number


_DEFAULTS: Final = {name: getattr(Step("", ""), name) for name in STEP_FIELDS[2:]}
_WRITERS: Final[Mapping[str, Callable[[Any], Json]]] = {
    "args": lambda args: {name: dump_value(value) for name, value in args.items()},
    "after": list,
    "for_each": dump_value,
    "when": lambda when: {"value": dump_value(when.value), "is": copied(when.schema)},
    "timeout_s": _plain_number,
}
"""Fields of a step whose JSON is not their value."""
