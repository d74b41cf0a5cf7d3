"""Planners: they propose drafts of plans, and never parse, check or run."""

from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    Planner,
    Proposal,
    Question,
    Refusal,
)
from toolplan.planners.grounded import GroundedPlanner

__all__ = [
    "Attempt",
    "Clarification",
    "Draft",
    "GroundedPlanner",
    "Planner",
    "Proposal",
    "Question",
    "Refusal",
]
