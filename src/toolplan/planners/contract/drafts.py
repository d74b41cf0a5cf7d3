"""Tasks as a plan: a task is a step, its owner the tool.

The dialect `state` says it where it can. It has no references, and no `on_error`; where agents take
what others gave as arguments, or may fail without harm, the plan is written in its own form.
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
from toolplan.planners._base import Draft
from toolplan.planners.contract.state import Intent
from toolplan.planners.contract.tasks import Task
from toolplan.tools import Tool, Toolbox

NAME: Final = "contract"
"""What drafts say of who wrote them."""

STATE: Final = "state"

Again: TypeAlias = Mapping[str, int]
"""Tools that are asked once more: for which time, from 2 on."""

NOBODY: Final[Again] = MappingProxyType({})


def missing_tools(tasks: Sequence[Task], tools: Toolbox) -> list[str]:
    """Return the tools of tasks that are not among `tools`, each once."""
    named = dict.fromkeys(task.contract.tool for task in tasks)
    return [name for name in named if _found(name, tools) is None]


def draft_of(
    tasks: Sequence[Task],
    intent: Intent,
    tools: Toolbox,
    metadata: Mapping[str, Json],
    again: Again = NOBODY,
) -> Draft:
    """Return `tasks` as a draft; every tool of theirs is among `tools`."""
    plan = plan_of(tasks, intent, tools, again)
    text = _state_text(plan, tasks, tools)
    if text is not None:
        return Draft(text, STATE, NAME)
    full = Plan(plan.steps, plan.output, metadata)
    return Draft(json.dumps(dump(full), ensure_ascii=False, indent=2), planner=NAME)


def plan_of(tasks: Sequence[Task], intent: Intent, tools: Toolbox, again: Again = NOBODY) -> Plan:
    """Return the plan of `tasks`: each step is told what its tool's schema declares.

    `again` are the tools that are asked once more, and for which time: their scope says so, and so
    it is another call than the one before.
    """
    return Plan(tuple(_step(task, intent, tools, again) for task in tasks), _output(tasks))


def _output(tasks: Sequence[Task]) -> Value | None:
    """Return what the user is shown: by name of output, and by tool where several agents answer."""
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
    """Return the outputs of a task that are shown, under short names where these are distinct."""
    roots = [path.partition(".")[0] for path in paths]
    lasts = [path.rpartition(".")[2] for path in paths]
    names = next((each for each in (roots, lasts) if len(set(each)) == len(each)), paths)
    refs = [Ref(task, tuple(path.split("."))) for path in paths]
    return object_(tuple(zip(names, refs, strict=True)))


def short_of(events: Sequence[Event]) -> list[str]:
    """Return the tools that a run got too little of: what one required of them did not fit."""
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
        # what a reference shows is not said twice
        after=tuple(name for name in task.depends_on if name not in used),
        on_error="continue" if task.is_optional else "fail",
        thought=task.description,
    )


def _args(task: Task, intent: Intent, tool: Tool, again: Again) -> dict[str, Value]:
    declared = tool.signature.inputs
    needed = task.required_data()
    if task.skill is None:
        # who is asked for the sake of others is told what they need of it
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
    """Return the plan in the dialect `state`, owners by name, or None where it cannot say it."""
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
