"""The entry point `grounded` of the group `toolplan.planners`."""

from __future__ import annotations

from toolplan.planners.context import PlannerContext
from toolplan.planners.grounded.planner import GroundedPlanner


def grounded(context: PlannerContext) -> GroundedPlanner:
    """Return the planner that reads the question with the words of the tools, without a model."""
    return GroundedPlanner(weeks=context.weeks)
