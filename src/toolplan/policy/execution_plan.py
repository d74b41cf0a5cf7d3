"""Execution plans: plans that passed the check, as engines take them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from toolplan.base.shown import Shown, counted, listed
from toolplan.plan.model import Plan, Signature, step_refs
from toolplan.plan.path import Json
from toolplan.policy import Flow

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Return whether `text` may be the digest of a plan."""
    return _DIGEST.fullmatch(text) is not None


def _any_tool() -> dict[str, Json]:
    return {"allow": None}


class ExecutionPlan(Shown, Struct, frozen=True):
    """A plan that passed the check. Only the compiler makes one.

    Attributes:
        plan: the plan as it will run, with every safe fix applied.
        order: step ids in topological order, otherwise in plan order.
        needs: for each step id, the ids of the steps that must end before it starts.
        signatures: argument and output names of the tools.
        effects: ids of the steps with effects, in order.
        digest: SHA-256 (hex) over the RFC 8785 form of steps, output, tool objects and policy.
        policy: the policy document under which the plan was checked; the digest covers it.
        unchecked_references: how many references were not type-checked.
        flows: the values that reach places where they can do harm, with their labels and verdicts.
    """

    plan: Plan
    order: tuple[str, ...]
    needs: Mapping[str, tuple[str, ...]]
    signatures: Mapping[str, Signature]
    effects: tuple[str, ...]
    digest: str
    policy: Mapping[str, Json] = field(default_factory=_any_tool)
    unchecked_references: int = 0
    flows: tuple[Flow, ...] = ()

    @property
    def skippable(self) -> frozenset[str]:
        """Ids of steps with a condition, and of all steps that refer to one of these."""
        steps = {step.id: step for step in self.plan.steps}
        found: set[str] = set()
        for name in self.order:
            step = steps[name]
            if step.when is not None or any(ref.step in found for _, ref in step_refs(step)):
                found.add(name)
        return frozenset(found)

    def __repr__(self) -> str:
        effects = f", effects: {listed(self.effects)}" if self.effects else ""
        steps = f"{counted(len(self.order), 'step')}: {listed(self.order)}"
        return f"ExecutionPlan({self.digest[:8]}, {steps}{effects})"
