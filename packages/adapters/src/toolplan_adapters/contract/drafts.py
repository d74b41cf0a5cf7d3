"""Tasks as a plan: a task is a step, its owner the tool.

The plan is in the dialect `state` where that can express it. It has no references and no
`on_error`; plans with these are in canonical JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from toolplan.dialects import DIALECTS
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import CannotExpress
from toolplan.plan.model import Literal, Plan, Ref, Step, Value, object_
from toolplan.plan.path import Json, copied
from toolplan.planners import Draft
from toolplan.schema.tool import Tool, Toolbox
from toolplan_adapters.contract.state import Intent
from toolplan_adapters.contract.tasks import Task

NAME: Final = "contract"
"""The planner of the drafts."""

STATE: Final = "state"


def missing_tools(tasks: Sequence[Task], tools: Toolbox) -> list[str]:
    """Return the tools of tasks that are missing in `tools`, each once."""
    named = dict.fromkeys(task.contract.tool for task in tasks)
    return [name for name in named if _tool(name, tools) is None]


def draft_of(
    tasks: Sequence[Task],
    intent: Intent,
    tools: Toolbox,
    metadata: Mapping[str, Json],
) -> Draft:
    """Return `tasks` as a draft; all their tools must be in `tools`.

    Each step has the arguments that its tool's schema declares.
    """
    steps = tuple(_step(task, intent, tools) for task in tasks)
    plan = Plan(steps, _output(tasks), metadata)
    owners = [task.contract.agent for task in tasks]
    if all(_tool(name, tools) is not None for name in owners):
        owned = [replace(step, tool=name) for step, name in zip(steps, owners, strict=True)]
        try:
            return Draft(DIALECTS[STATE].print(Plan(tuple(owned), plan.output)), STATE, NAME)
        except CannotExpress:
            pass
    return Draft(json.dumps(dump(plan), ensure_ascii=False, indent=2), planner=NAME)


def _output(tasks: Sequence[Task]) -> Value | None:
    """Return the output of the plan, by tool where several agents answer."""
    shown: list[tuple[str, Value]] = []
    for task in tasks:
        if task.answers:
            paths = list(dict.fromkeys(task.skill.answer)) if task.skill is not None else []
            if not paths:
                return None
            shown.append((task.contract.tool, _shown(task.id, paths)))
    return shown[0][1] if len(shown) == 1 else object_(tuple(shown))


def _shown(task: str, paths: Sequence[str]) -> Value:
    """Return the shown outputs of a task, by the first part of their paths if distinct."""
    roots = [path.partition(".")[0] for path in paths]
    names = roots if len(set(roots)) == len(paths) else paths
    refs = [Ref(task, tuple(path.split("."))) for path in paths]
    return object_(tuple(zip(names, refs, strict=True)))


def _step(task: Task, intent: Intent, tools: Toolbox) -> Step:
    tool = _tool(task.contract.tool, tools)
    if tool is None:
        raise ValueError(f"There is no tool {task.contract.tool!r}.")
    args = _args(task, intent, tool)
    read = task.sources.values() if "upstream" in args else ()
    return Step(
        id=task.id,
        tool=tool.name,
        args=args,
        # a reference is a dependency already
        after=tuple(name for name in task.depends_on if name not in read),
        on_error="continue" if task.is_optional else "fail",
        thought=task.description,
    )


def _args(task: Task, intent: Intent, tool: Tool) -> dict[str, Value]:
    needed = task.required_data()
    given: dict[str, Value] = {}
    if task.skill is not None:
        given["skill"] = Literal(task.skill.name)
    else:  # an agent that works for others gets their requirements
        needed += [each.to_json(skill) for skill, each in task.requested]
    given["required_data"] = Literal(needed)
    given["scope"] = Literal(intent.to_scope())
    if task.sources:
        outputs = ((tool, Ref(source)) for tool, source in task.sources.items())
        given["upstream"] = object_(tuple(outputs))
    declared = tool.signature.inputs
    fixed = {name: Literal(copied(value)) for name, value in task.contract.arguments.items()}
    return {name: value for name, value in given.items() if name in declared} | fixed


def _tool(name: str, tools: Toolbox) -> Tool | None:
    return tools.get(tools.alias(name) or name)
