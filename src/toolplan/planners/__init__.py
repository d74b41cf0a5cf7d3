"""Planners: they propose drafts of plans, and never parse, check or run them."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
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
    from toolplan.planners.grounded.planner import GroundedPlanner
    from toolplan.planners.llm import LLMPlanner
else:
    __getattr__ = names_of(
        __name__,
        _base="Attempt Clarification Draft DraftText OnText Planner Proposal Question Refusal"
        " Remembering",
        grounded="GroundedPlanner",
        llm="LLMPlanner",
    )

__all__ = [
    "Attempt",
    "Clarification",
    "Draft",
    "DraftText",
    "GroundedPlanner",
    "LLMPlanner",
    "OnText",
    "Planner",
    "Proposal",
    "Question",
    "Refusal",
    "Remembering",
]
