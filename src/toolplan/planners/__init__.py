"""Planners: they propose drafts of plans, and never parse, check or run."""

from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.grounded.planner import GroundedPlanner
from toolplan.planners.llm import LLMPlanner

__all__ = [
    "Attempt",
    "Clarification",
    "Draft",
    "GroundedPlanner",
    "LLMPlanner",
    "Planner",
    "Proposal",
    "Question",
    "Refusal",
    "Remembering",
]
