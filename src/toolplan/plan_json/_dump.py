"""From a plan to canonical JSON."""

from __future__ import annotations

import math

from toolplan.path import Json, copied
from toolplan.plan import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, Plan, Step
from toolplan.plan_json._load import VERSION
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
    if step.args:
        item["args"] = {name: dump_value(value) for name, value in step.args.items()}
    if step.after:
        item["after"] = list(step.after)
    if step.for_each is not None:
        item["for_each"] = dump_value(step.for_each)
    if step.max_items != DEFAULT_MAX_ITEMS:
        item["max_items"] = step.max_items
    if step.when is not None:
        item["when"] = {"value": dump_value(step.when.value), "is": copied(step.when.schema)}
    if step.on_error != "fail":
        item["on_error"] = step.on_error
    if step.timeout_s is not None:
        item["timeout_s"] = _plain_number(step.timeout_s)
    if step.retries:
        item["retries"] = step.retries
    if step.pages is not None:
        item["pages"] = step.pages
    if step.max_pages != DEFAULT_MAX_PAGES:
        item["max_pages"] = step.max_pages
    if step.thought is not None:
        item["thought"] = step.thought
    return item


def _plain_number(number: float) -> int | float:
    return int(number) if math.isfinite(number) and number == int(number) else number
