"""Plans as tests: questions with their expected plans, asked of any planner or model.

Nothing is called. Whoever changes a prompt, a model or a tool sees what changed in the plans.
"""

from toolplan.plan_tests.cases import Case, CaseError, CaseFile, Expectation, read_cases
from toolplan.plan_tests.recorded import Recorded
from toolplan.plan_tests.runner import CaseResult, junit, run_case, run_cases

__all__ = [
    "Case",
    "CaseError",
    "CaseFile",
    "CaseResult",
    "Expectation",
    "Recorded",
    "junit",
    "read_cases",
    "run_case",
    "run_cases",
]
