"""The baseline of repair: names that miss are replaced by did-you-mean.

This is what is usually done with the plans of models: no types, no references, no graph.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from toolplan.compiler import parse
from toolplan.plan.model import Plan, Step, Value
from toolplan.schema.tool import Toolbox

_ALIKE: Final = 0.6
"""difflib's own default for what is near enough."""


def repaired(text: str, dialect: str, tools: Toolbox) -> Plan | None:
    """Return the plan of `text` with near names put in, None where it cannot be read at all."""
    plan = parse(text, dialect, tools).plan
    return plan and replace(plan, steps=tuple(_renamed(step, tools) for step in plan.steps))


def _renamed(step: Step, tools: Toolbox) -> Step:
    name = _nearest(step.tool, tools)
    tool = tools.get(name)
    if tool is None:
        return step
    args: dict[str, Value] = {}
    for key, value in step.args.items():
        free = [each for each in tool.signature.inputs if each not in step.args]
        args[key if key in tool.signature.inputs else _nearest(key, free)] = value
    return replace(step, tool=name, args=args)


def _nearest(name: str, names: Iterable[str]) -> str:
    known = list(names)
    if name in known:
        return name
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)), name)
