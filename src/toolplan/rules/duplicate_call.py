"""The rule `duplicate-call`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.path import Json
from toolplan.plan import Step
from toolplan.plan_json import dump_value
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule


@rule(Severity.WARNING)
def duplicate_call(facts: Facts) -> Iterator[Problem]:
    """Two steps make the same call, and the tool only reads.

    The second gives what the first gave. A planner that loses its thread writes such steps by the
    dozen.

    Way out: refer to the first step, or make the calls differ.
    """
    first: dict[str, Step] = {}
    for position, step in enumerate(facts.plan.steps):
        tool = facts.tool(step)
        if not step.tool or (tool is not None and tool.has_effects):
            continue
        earlier = first.setdefault(_call(step), step)
        if earlier is not step:
            yield Problem(
                f"{step.id!r} makes the same call as {earlier.id!r}.",
                f"/steps/{position}",
                step.id,
                f"Refer to {earlier.id!r} instead.",
            )


def _call(step: Step) -> str:
    """Give what is called with what, as text that is the same for the same call."""
    parts: dict[str, Json] = {name: dump_value(value) for name, value in step.args.items()}
    over = None if step.for_each is None else dump_value(step.for_each)
    when: Json = None
    if step.when is not None:
        when = [dump_value(step.when.value), step.when.schema]
    return json.dumps([step.tool, parts, over, when, sorted(step.after)], sort_keys=True)
