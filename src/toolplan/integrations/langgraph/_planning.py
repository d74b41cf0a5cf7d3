"""What the planner says, checked before it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from toolplan.diagnostics import did_you_mean, near
from toolplan.integrations.langgraph.state import Decision, PlannerResult, Task
from toolplan.path import Json


def plan_problems(
    reply: dict[str, Json], standing: PlannerResult | None, experts: Sequence[str]
) -> list[str]:
    """Return what is wrong with a planner's reply that has the right form.

    Args:
        reply: what it said.
        standing: the plan that there is, if any.
        experts: the names of those that there are.
    """
    if asks(reply) is not None:
        return []
    plan, index = _tasks(reply), cast("int", reply["next_task"])
    if reply["decision"] == "continue":
        return _continuing(plan, index, standing)
    problems = [
        f"/plan/{at}/expert: There is no expert {task['expert']!r}."
        f" {did_you_mean(near(task['expert'], experts)) or 'There are ' + ', '.join(experts) + '.'}"
        for at, task in enumerate(plan)
        if task["expert"] not in experts
    ]
    problems += [
        f"/plan/{at}/task: It says nothing."
        for at, task in enumerate(plan)
        if not task["task"].strip()
    ]
    if plan and not 0 <= index < len(plan):
        problems.append(f"/next_task: It must be from 0 to {len(plan) - 1}, not {index}.")
    return problems


def planned(reply: dict[str, Json], standing: PlannerResult | None) -> PlannerResult:
    """Return the plan after a reply without problems; one that asks leaves the plan as it was."""
    decision = cast("Decision", reply["decision"])
    question = asks(reply)
    kept = [] if standing is None else standing["plan"]
    if question is not None:
        index = 0 if standing is None else standing["next_task"]
        return _result(decision, kept, index, question)
    if decision == "continue":
        return _result(decision, kept, cast("int", reply["next_task"]), None)
    plan = _tasks(reply)
    return _result(decision, plan, cast("int", reply["next_task"]) if plan else 0, None)


def asks(reply: dict[str, Json]) -> str | None:
    """Return what the planner asks, None where it asks nothing."""
    question = reply["clarification"]
    return question.strip() or None if isinstance(question, str) else None


def _continuing(plan: list[Task], index: int, standing: PlannerResult | None) -> list[str]:
    if standing is None or not standing["plan"]:
        return ["/decision: There is no plan to continue; decide `replace`."]
    problems: list[str] = []
    if plan and plan != standing["plan"]:
        problems.append("/plan: It is not the plan that there is; decide `replace` to change it.")
    least, most = standing["next_task"], len(standing["plan"]) - 1
    if not least <= index <= most:
        problems.append(
            f"/next_task: It must be from {least} to {most}, not {index}; what is done stays done."
        )
    return problems


def _tasks(reply: dict[str, Json]) -> list[Task]:
    listed = cast("list[dict[str, str]]", reply["plan"])  # the reply fits its schema
    return [Task(expert=each["expert"], task=each["task"]) for each in listed]


def _result(
    decision: Decision, plan: list[Task], next_task: int, clarification: str | None
) -> PlannerResult:
    return PlannerResult(
        decision=decision, plan=plan, next_task=next_task, clarification=clarification
    )
