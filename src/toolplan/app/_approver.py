"""Leave to run a plan with effects: who is asked for it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from toolplan.approval import Approval
from toolplan.engines import Approver
from toolplan.execution_plan import ExecutionPlan

Approve: TypeAlias = Callable[[ExecutionPlan], Approval | Awaitable[Approval | None] | None]
"""Called once for each plan with effects, before anything runs; None is no."""


def approver(approve: Approve) -> Approver:
    """Return `approve` in the form in which engines ask."""

    async def ask(plan: ExecutionPlan) -> Approval | None:
        given = approve(plan)
        return await given if inspect.isawaitable(given) else given

    return ask
