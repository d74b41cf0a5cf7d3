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

    `current` is the current plan, if there is one; `experts` are the names of the experts.
    """
    found = planned(reply, current)
    plan, index = _tasks(reply), cast("int", reply["next_task"])
    first_open = 0
    if found["clarification"] is not None:
        return []
    problems: list[str] = []
    if found["decision"] == "continue":
        if not found["plan"]:
            return ["/decision: There is no plan to continue; decide `replace`."]
        if plan and plan != found["plan"]:
            problems.append("/plan: It is not the current plan; decide `replace` to change it.")
        first_open = 0 if current is None else current["next_task"]
    else:
        for at, task in enumerate(plan):
            if task["expert"] not in experts:
                hint = did_you_mean(near(task["expert"], experts))
                hint = hint or f"Experts: {', '.join(experts)}."
                said = f"/plan/{at}/expert: There is no expert {task['expert']!r}. {hint}"
                problems.append(said)
            if not task["task"].strip():
                problems.append(f"/plan/{at}/task: It is empty.")
    most = len(found["plan"]) - 1
    if found["plan"] and not first_open <= index <= most:
        # tasks that are done are not repeated
        problems.append(f"/next_task: It must be from {first_open} to {most}, not {index}.")
    return problems


def planned(reply: dict[str, Json], current: PlannerResult | None) -> PlannerResult:
    """Return the plan after a valid reply; one that asks a question keeps the plan."""
    asked = reply["clarification"]
    question = (asked.strip() or None) if isinstance(asked, str) else None
    decision, index = cast("Decision", reply["decision"]), cast("int", reply["next_task"])
    plan = [] if current is None else current["plan"]
    if question is not None:
        index = 0 if current is None else current["next_task"]
    elif decision == "replace":
        plan = _tasks(reply)
        index = index if plan else 0
    return PlannerResult(decision=decision, plan=plan, next_task=index, clarification=question)


def _tasks(reply: dict[str, Json]) -> list[Task]:
    listed = cast("list[dict[str, str]]", reply["plan"])  # the reply fits its schema
    return [Task(expert=each["expert"], task=each["task"]) for each in listed]
