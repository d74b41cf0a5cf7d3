"""Leave to run calls with effects, asked through LangGraph's `interrupt`.

What a person says is bound to the digest of what they were shown: `approved(shown)` says yes to
that very plan. A word that names another digest, or none, is asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from langgraph.types import interrupt

from toolplan.approval import Approval, approve, effect_steps
from toolplan.execution_plan import ExecutionPlan
from toolplan.integrations.langgraph._kept import keepable
from toolplan.path import Json
from toolplan.plan_json import dump
from toolplan.tools import Tool


class Refused(NamedTuple):
    """A person does not want the plan to run; `reason` is their own word."""

    reason: str


def approved(shown: object) -> dict[str, Json]:
    """Return what to resume with to let run what an interrupt has shown.

    Args:
        shown: the `value` of the interrupt.

    Raises:
        ValueError: it shows no plan.
    """
    digest = cast("Mapping[str, object]", shown).get("digest") if _is_mapping(shown) else None
    if not isinstance(digest, str):
        raise ValueError("This interrupt shows no plan to approve.")
    return {"approve": digest}


def refused(reason: str = "") -> dict[str, Json]:
    """Return what to resume with to have nothing run; the model is told `reason`."""
    return {"refuse": reason}


def leave_for(
    plan: ExecutionPlan, tools: Mapping[str, Tool], about: Mapping[str, Json]
) -> Approval | Refused | None:
    """Interrupt until a person has approved or refused `plan`; None where it needs no leave.

    Args:
        plan: what is to run.
        tools: the tools of the plan.
        about: what else the person is shown.
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
                note = "That was leave for something else, or none. This is what would run now."
                shown = {**shown, "note": note}


def shown_plan(plan: ExecutionPlan, tools: Mapping[str, Tool]) -> dict[str, Json]:
    """Return what a person has to see before they approve: the plan, and all that it may change."""
    whole = dump(plan.plan)
    steps = whole["steps"]
    args = {
        str(step["id"]): step.get("args", {})
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, dict)
    }
    effects: list[Json] = [
        {
            "step": each.step,
            "tool": each.tool,
            "effects": each.effects.value,
            "args": args[each.step],
            "calls": each.calls,
            "exact": each.exact,
        }
        for each in effect_steps(plan, tools)
    ]
    return {
        "kind": "approval",
        "digest": plan.digest,
        "effects": keepable(effects),
        "plan": keepable(whole),
        "resume": {"approve": plan.digest},
    }


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)
