"""The planner's replies: checked, and turned into the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json
from toolplan_langgraph.state import Decision, PlannerResult, Task


def plan_problems(
    reply: dict[str, Json], current: PlannerResult | None, experts: Sequence[str]
) -> list[str]:
    """Return the problems of a planner's reply that has the right form.

    Args:
        reply: the reply.
        current: the current plan, if there is one.
        experts: the names of the experts.
    """
    if question_of(reply) is not None:
        return []
    plan, index = _tasks(reply), cast("int", reply["next_task"])
    if reply["decision"] == "continue":
        return _continuing(plan, index, current)
    problems = [
        f"/plan/{at}/expert: There is no expert {task['expert']!r}. "
        + (did_you_mean(near(task["expert"], experts)) or f"Experts: {', '.join(experts)}.")
        for at, task in enumerate(plan)
        if task["expert"] not in experts
    ]
    problems += [
        f"/plan/{at}/task: It is empty." for at, task in enumerate(plan) if not task["task"].strip()
    ]
    if plan and not 0 <= index < len(plan):
        problems.append(f"/next_task: It must be from 0 to {len(plan) - 1}, not {index}.")
    return problems


def planned(reply: dict[str, Json], current: PlannerResult | None) -> PlannerResult:
    """Return the plan after a valid reply; one that asks a question keeps the plan."""
    decision, question = cast("Decision", reply["decision"]), question_of(reply)
    plan = [] if current is None else current["plan"]
    index = cast("int", reply["next_task"])
    if question is not None:
        index = 0 if current is None else current["next_task"]
    elif decision == "replace":
        plan = _tasks(reply)
        index = index if plan else 0
    return PlannerResult(decision=decision, plan=plan, next_task=index, clarification=question)


def question_of(reply: dict[str, Json]) -> str | None:
    """Return the planner's question to the user, if it has one."""
    question = reply["clarification"]
    return question.strip() or None if isinstance(question, str) else None


def _continuing(plan: list[Task], index: int, current: PlannerResult | None) -> list[str]:
    if current is None or not current["plan"]:
        return ["/decision: There is no plan to continue; decide `replace`."]
    problems: list[str] = []
    if plan and plan != current["plan"]:
        problems.append("/plan: It is not the current plan; decide `replace` to change it.")
    least, most = current["next_task"], len(current["plan"]) - 1
    if not least <= index <= most:
        problems.append(
            f"/next_task: It must be from {least} to {most}, not {index}; tasks that are done are "
            "not repeated."
        )
    return problems


def _tasks(reply: dict[str, Json]) -> list[Task]:
    listed = cast("list[dict[str, str]]", reply["plan"])  # the reply fits its schema
    return [Task(expert=each["expert"], task=each["task"]) for each in listed]
