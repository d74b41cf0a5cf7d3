"""An adapter with the names of the Kirha planner's SDK: `Planner`, `Plan`, `is_valid_plan`.

    from toolplan_adapters.kirha import Planner, Tool, is_valid_plan

Names are spelled as in Python (`generate_plan`, `step_id`); wire forms are those of the SDK.
"""

from toolplan_adapters.kirha.planner import Plan as Plan
from toolplan_adapters.kirha.planner import Planner as Planner
from toolplan_adapters.kirha.planner import StepResult as StepResult
from toolplan_adapters.kirha.planner import execute as execute
from toolplan_adapters.kirha.planner import parse_plan as parse_plan
from toolplan_adapters.kirha.steps import PlannerError as PlannerError
from toolplan_adapters.kirha.steps import PlanParseError as PlanParseError
from toolplan_adapters.kirha.steps import Step as Step
from toolplan_adapters.kirha.tools import Tool as Tool
from toolplan_adapters.kirha.validation import PlanValidationError as PlanValidationError
from toolplan_adapters.kirha.validation import PlanValidationResult as PlanValidationResult
from toolplan_adapters.kirha.validation import is_valid_plan as is_valid_plan
