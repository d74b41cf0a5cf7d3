"""An adapter with the names of the Kirha planner's SDK: `Planner`, `Plan`, `is_valid_plan`.

    from toolplan_adapters.kirha import Planner, Tool, is_valid_plan

Names are spelled as in Python (`generate_plan`, `step_id`); wire forms are those of the SDK.
"""

from toolplan_adapters.kirha.planner import Plan, Planner, StepResult, execute, parse_plan
from toolplan_adapters.kirha.steps import PlannerError, PlanParseError, Step
from toolplan_adapters.kirha.tools import Tool
from toolplan_adapters.kirha.validation import (
    PlanValidationError,
    PlanValidationResult,
    is_valid_plan,
)

__all__ = [
    "Plan",
    "PlanParseError",
    "PlanValidationError",
    "PlanValidationResult",
    "Planner",
    "PlannerError",
    "Step",
    "StepResult",
    "Tool",
    "execute",
    "is_valid_plan",
    "parse_plan",
]
