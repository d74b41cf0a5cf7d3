"""Planners: they propose drafts of plans, and never parse, check or run them."""

from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    DraftText,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.llm import LLMPlanner

__all__ = [
    "Attempt",
    "Clarification",
    "Draft",
    "DraftText",
    "LLMPlanner",
    "OnText",
    "Planner",
    "Proposal",
    "Question",
    "Refusal",
    "Remembering",
]
