"""Who approves a plan with effects: a person who is asked, or an approval given beforehand."""

from __future__ import annotations

from typing import TypeAlias

from toolplan.approval import Approval, ApprovalRequired, Approver, approve
from toolplan.execution_plan import ExecutionPlan

Approve: TypeAlias = Approver | Approval | str
"""A callable that is given the plan and returns an approval or None; an approval; or a digest."""


def approver_of(given: Approve | None, *, yes: bool) -> Approver | None:
    """Return what an engine asks; None where no plan with effects may run."""
    if callable(given):
        return given
    if given is None and not yes:
        return None

    def answer(plan: ExecutionPlan) -> Approval | None:
        if is_other(given, plan):
            return None
        return given if isinstance(given, Approval) else approve(plan)

    return answer


def is_other(given: Approve | None, plan: ExecutionPlan) -> bool:
    """Return whether an approval was given beforehand, for another plan than `plan`."""
    digest = given.digest if isinstance(given, Approval) else given
    return isinstance(digest, str) and plan.digest != digest


def refuse_other(given: Approve | None, plan: ExecutionPlan) -> None:
    """Refuse a plan with effects where an approval was given beforehand for another one.

    Raises:
        ApprovalRequired: it was.
    """
    if plan.effects and is_other(given, plan):
        raise ApprovalRequired(plan.digest)
