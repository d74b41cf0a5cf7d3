"""Who approves a plan with effects: a person who is asked, or an approval given beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.base.threads import in_thread
from toolplan.policy.approval import (
    Approval,
    ApprovalRequired,
    ApprovalUsed,
    Approver,
    approve,
    approve_digest,
    needs_no_approval,
)
from toolplan.policy.consent import ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.storage.journal import Store

VALUES: Final = "values"


class DigestApprover(Struct, frozen=True):
    """Approves the plan with `digest` after `ask`, which shows it, has approved it too.

    `times` is the number of runs that the digest may approve in all.
    """

    digest: str
    ask: Callable[[ExecutionPlan], Awaitable[Approval | bool | None]]
    times: int = 1

    async def __call__(self, plan: ExecutionPlan) -> Approval | bool | None:
        """Return the approval of `plan`, None if it is another one or is refused."""
        if plan.digest != self.digest:
            return None
        given = await self.ask(plan)
        return approve_digest(plan, self.times) if isinstance(given, Approval) else given


class ByPlan(Struct, frozen=True):
    """Lets the plan decide who approves: `choose` gets it; `otherwise` is for an unwritten one."""

    choose: Callable[[ExecutionPlan], Approver | ValueApproval]
    otherwise: Approver


Approve: TypeAlias = Approver | Approval | ValueApproval | ByPlan | str
"""A callable that is given the plan and returns an approval or None; an approval; or a digest.

`VALUES` and a `ValueApproval` have calls approved with their values, and not the plan.
"""


def chosen(given: Approve | None, plan: ExecutionPlan | None) -> Approve | None:
    """Return the approver of `plan`; None is a plan that is not written yet."""
    if not isinstance(given, ByPlan):
        return given
    return given.otherwise if plan is None else given.choose(plan)


def by_values(given: Approve | None) -> ValueApproval | None:
    """Return how calls are approved with their values; None where the plan is approved."""
    if given == VALUES:
        return ValueApproval()
    return given if isinstance(given, ValueApproval) else None


def approver_of(given: Approve | None, *, yes: bool) -> Approver | ValueApproval | None:
    """Return the approver for an engine; None where no plan with effects may run."""
    if (values := by_values(given)) is not None:
        return values
    if callable(given) or (given is None and not yes):
        return given

    def answer(plan: ExecutionPlan) -> Approval | None:
        if is_other(given, plan):
            return None
        if isinstance(given, Approval):
            return given
        return approve(plan) if given is None else approve_digest(plan)

    return answer


async def approver_for(
    given: Approve | None, plan: ExecutionPlan, journal: Store | None, run: str = "", *, yes: bool
) -> Approver | ValueApproval | None:
    """Return the approver of `plan` for an engine, after `refuse_wrong`, which raises."""
    approve = chosen(given, plan)
    if plan.effects:
        await in_thread(refuse_wrong, approve, plan, journal, run)
    return approver_of(approve, yes=yes)


def is_other(given: Approve | None, plan: ExecutionPlan) -> bool:
    """Return whether an approval was given beforehand, for another plan than `plan`."""
    digest = given.digest if isinstance(given, Approval | DigestApprover) else given
    return isinstance(digest, str) and digest not in (VALUES, plan.digest)


def refuse_wrong(
    given: Approve | None, plan: ExecutionPlan, journal: Store | None, run: str = ""
) -> None:
    """Refuse a plan with effects that the given approval cannot approve for `run`.

    This is before anyone is asked; the journal decides when the approval is used.
    """
    if not plan.effects:
        return
    if is_other(given, plan):
        raise ApprovalRequired(plan.digest)
    times = given.times if isinstance(given, DigestApprover) else 1
    by_digest = isinstance(given, DigestApprover) or given == plan.digest
    if by_digest and journal is not None and not needs_no_approval(plan):
        users = journal.users(plan.digest)
        if run not in users and len(users) >= times:
            raise ApprovalUsed(approve_digest(plan, len(users)).id, users[-1])
