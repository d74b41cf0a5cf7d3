"""Tasks as a plan: a task is a step, its owner the tool.

The plan is in the dialect `state` where that can express it. It has no references and no
`on_error`; plans with these are in canonical JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from toolplan.diagnostics import CannotExpress
from toolplan.dialects import DIALECTS
from toolplan.events import Event, StepFailed
from toolplan.path import Json, copied
from toolplan.plan import Literal, Plan, Ref, Step, Value, object_, split_pointer
from toolplan.plan_json import dump
from toolplan.planners import Draft
from toolplan.tools import Tool, Toolbox
from toolplan_adapters.contract.state import Intent
from toolplan_adapters.contract.tasks import Task

NAME: Final = "contract"
"""The planner of the drafts."""

STATE: Final = "state"

Again: TypeAlias = Mapping[str, int]
"""Tools to call again, each with the number of the round, from 2 on."""

NOBODY: Final[Again] = MappingProxyType({})


def missing_tools(tasks: Sequence[Task], tools: Toolbox) -> list[str]:
    """Return the tools of tasks that are missing in `tools`, each once."""
    named = dict.fromkeys(task.contract.tool for task in tasks)
    return [name for name in named if _found(name, tools) is None]


def draft_of(
    tasks: Sequence[Task],
    intent: Intent,
    tools: Toolbox,
    metadata: Mapping[str, Json],
    again: Again = NOBODY,
) -> Draft:
    """Return `tasks` as a draft; all their tools must be in `tools`."""
    plan = plan_of(tasks, intent, tools, again)
    text = _state_text(plan, tasks, tools)
    if text is not None:
        return Draft(text, STATE, NAME)
    full = Plan(plan.steps, plan.output, metadata)
    return Draft(json.dumps(dump(full), ensure_ascii=False, indent=2), planner=NAME)


def plan_of(tasks: Sequence[Task], intent: Intent, tools: Toolbox, again: Again = NOBODY) -> Plan:
    """Return the plan of `tasks`: each step has the arguments that its tool's schema declares.

    The scope of tools in `again` has the number of the round, so it is a new call.
    """
    return Plan(tuple(_step(task, intent, tools, again) for task in tasks), _output(tasks))


def _output(tasks: Sequence[Task]) -> Value | None:
    """Return the output of the plan, by tool where several agents answer."""
    answering = [task for task in tasks if task.answers]
    shown = [
        (task.contract.tool, _shown(task.id, list(dict.fromkeys(task.skill.answer))))
        for task in answering
        if task.skill is not None and task.skill.answer
    ]
    if not shown or len(shown) < len(answering):
        return None
    return shown[0][1] if len(shown) == 1 else object_(tuple(shown))


def _shown(task: str, paths: Sequence[str]) -> Value:
    """Return the shown outputs of a task, by short names where these are distinct."""
    roots = [path.partition(".")[0] for path in paths]
    lasts = [path.rpartition(".")[2] for path in paths]
    names = next((each for each in (roots, lasts) if len(set(each)) == len(each)), paths)
    refs = [Ref(task, tuple(path.split("."))) for path in paths]
    return object_(tuple(zip(names, refs, strict=True)))


def short_of(events: Sequence[Event]) -> list[str]:
    """Return the tools whose outputs were less than another step required."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event, StepFailed) and event.failure.code == "argument-value":
            match split_pointer(event.failure.pointer):
                case ["args", "upstream", tool, *_]:
                    found[tool] = None
                case _:
                    pass
    return list(found)


def _step(task: Task, intent: Intent, tools: Toolbox, again: Again) -> Step:
    tool = _found(task.contract.tool, tools)
    args = {} if tool is None else _args(task, intent, tool, again)
    used = {source.task for source in task.sources} if "upstream" in args else set[str]()
    return Step(
        id=task.id,
        tool=task.contract.tool if tool is None else tool.name,
        args=args,
        # a reference is a dependency already
        after=tuple(name for name in task.depends_on if name not in used),
        on_error="continue" if task.is_optional else "fail",
        thought=task.description,
    )


def _args(task: Task, intent: Intent, tool: Tool, again: Again) -> dict[str, Value]:
    declared = tool.signature.inputs
    needed = task.required_data()
    if task.skill is None:
        # an agent that works for others gets their requirements
        needed += [each.to_json(skill) for skill, each in task.requested]
    given: dict[str, Value] = {}
    if task.skill is not None:
        given["skill"] = Literal(task.skill.name)
    given["required_data"] = Literal(needed)
    scope = intent.to_scope()
    if task.contract.tool in again:
        scope["round"] = again[task.contract.tool]
    given["scope"] = Literal(scope)
    if task.sources:
        given["upstream"] = object_(tuple((each.tool, Ref(each.task)) for each in task.sources))
    fixed = {name: Literal(copied(value)) for name, value in task.contract.arguments.items()}
    return {**{name: value for name, value in given.items() if name in declared}, **fixed}


def _state_text(plan: Plan, tasks: Sequence[Task], tools: Toolbox) -> str | None:
    """Return the plan in the dialect `state`, or None where that cannot express it."""
    owners = [task.contract.agent for task in tasks]
    if any(_found(name, tools) is None for name in owners):
        return None
    steps = tuple(
        Step(step.id, owner, step.args, step.after, on_error=step.on_error, thought=step.thought)
        for step, owner in zip(plan.steps, owners, strict=True)
    )
    try:
        return DIALECTS[STATE].print(Plan(steps, plan.output))
    except CannotExpress:
        return None


def _found(name: str, tools: Toolbox) -> Tool | None:
    known = name if name in tools else tools.alias(name)
    return None if known is None else tools[known]
