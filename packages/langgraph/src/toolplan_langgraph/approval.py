"""Approval of calls with effects through LangGraph's `interrupt`.

An answer is bound to the digest of the plan that was shown: `approved(shown)` approves that plan
only. An answer with another digest, or without one, is asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from langgraph.types import interrupt
from msgspec import Struct

from toolplan.approval import Approval, approve, effect_steps
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan_json import dump
from toolplan.render.approval_view import approval_json
from toolplan.tools import Tool
from toolplan_langgraph._storable import storable


class Refused(Struct, frozen=True):
    """The user refused the plan, for `reason`."""

    reason: str


def approved(shown: object) -> dict[str, Json]:
    """Return the resume value that approves the plan of an interrupt.

    Args:
        shown: the `value` of the interrupt.

    Raises:
        ValueError: it shows no plan.
    """
    match shown:
        case {"digest": str(digest)}:
            return {"approve": digest}
        case _:
            raise ValueError("This interrupt shows no plan to approve.")


def refused(reason: str = "") -> dict[str, Json]:
    """Return the resume value that refuses the plan; the model sees `reason`."""
    return {"refuse": reason}


def ask_approval(
    plan: ExecutionPlan, tools: Mapping[str, Tool], about: Mapping[str, Json]
) -> Approval | Refused | None:
    """Interrupt until the user has approved or refused `plan`; None if it has no effects.

    Args:
        plan: the plan.
        tools: the tools of the plan.
        about: more information for the user.
    """
    if not plan.effects:
        return None
    shown = {**about, **shown_plan(plan, tools)}
    while True:
        match cast("object", interrupt(shown)):
            case {"approve": str(digest)} if digest == plan.digest:
                return approve(plan)
            case {"refuse": str(reason)}:
                return Refused(reason)
            case False:
                return Refused("")
            case _:
                note = "The answer approves no plan, or another one. This is what would run now."
                shown = {**shown, "note": note}


def shown_plan(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> dict[str, Json]:
    """Return the plan and all its effects, as the value of an interrupt."""
    return {
        "kind": "approval",
        "digest": plan.digest,
        "effects": storable(approval_json(effect_steps(plan, tools), plan.digest)["effects"]),
        "plan": storable(dump(plan.plan)),
        "resume": {"approve": plan.digest},
    }
