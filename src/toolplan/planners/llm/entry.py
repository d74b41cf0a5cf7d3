"""The entry point `llm` of the group `toolplan.planners`."""

from __future__ import annotations

import re

from toolplan.planners.context import PlannerContext
from toolplan.planners.llm._planner import LLMPlanner

_KIRHA = re.compile(r"\bkirha/planner")


def llm(context: PlannerContext) -> LLMPlanner | None:
    """Return the planner that asks the model; None where none is named.

    Models of the kirha family are asked in their own form (F002-22).
    """
    if context.model is None:
        return None
    kirha = bool(context.models) and all(_KIRHA.search(spec) for spec in context.models)
    return LLMPlanner(
        context.model,
        weeks=context.weeks,
        style="kirha" if kirha else "toolplan",
        temperature=context.temperature,
        max_tokens=context.max_tokens,
        instructions=context.instructions,
        requests=context.requests,
        small=context.small_model,
    )
