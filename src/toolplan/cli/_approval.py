"""ApprovalPrompt to run a plan with effects.

Given beforehand by an option, or asked for on a terminal.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import NamedTuple

from toolplan.approval import Approval, ApprovalRequired, Approver, approve, effect_steps
from toolplan.cli._display import Display
from toolplan.cli._terminal import CommandError, Exit, err, note
from toolplan.execution_plan import ExecutionPlan
from toolplan.render.approval_view import ApprovalView, approval_json
from toolplan.tools import Toolbox


class ApprovalPrompt(NamedTuple):
    """What the call of a command says about plans with effects.

    `yes` gives leave to any, `digest` to the one that has it; else a person is asked, where there
    is one on a terminal and `may_ask` says that more than JSON is wanted.
    """

    yes: bool
    digest: str | None
    tools: Toolbox
    display: Display
    may_ask: bool

    def approver(self) -> Approver | None:
        """Return what the engine asks; None where nobody can give leave."""
        if self._can_ask():
            return self._ask
        return self._given if self.yes or self.digest is not None else None

    def check(self, plan: ExecutionPlan) -> None:
        """See that `plan` is not another one than leave was given to, before its run is kept.

        Raises:
            ApprovalRequired: leave was given to another.
        """
        if plan.effects and self._is_of_another(plan):
            raise ApprovalRequired(plan.digest)

    def missing(self, required: ApprovalRequired, plan: ExecutionPlan | None) -> CommandError:
        """Return what to tell where leave was not given; what it would be for is shown."""
        self.display.close()
        if self._can_ask():
            return CommandError(
                "approval-required",
                "The plan was not approved; nothing was run.",
                None,
                Exit.FAILED,
            )
        if plan is not None and self.may_ask:
            err().print(ApprovalView(effect_steps(plan, self.tools), plan.digest))
        other = f", not {self.digest}" if self.digest is not None else ""
        return CommandError(
            "approval-required",
            f"The plan changes something and was not run. Its digest is {required.digest}{other}.",
            "Read the plan. --yes gives leave to run it; --approve DIGEST gives it to this plan "
            "and to no other.",
            Exit.FAILED,
            details=None
            if plan is None
            else approval_json(effect_steps(plan, self.tools), required.digest),
        )

    def report_more(self, plan: ExecutionPlan) -> None:
        """Tell that a further plan, after a run that has done something, was not approved."""
        if self.may_ask:
            err().print(ApprovalView(effect_steps(plan, self.tools), plan.digest))
        note(
            "A further plan needs leave that was not given; what has run stands as told below."
            f" `toolplan runs` lists it; --approve {plan.digest} would give leave to that plan."
        )

    def _can_ask(self) -> bool:
        given = self.yes or self.digest is not None
        return not given and self.may_ask and sys.stdin.isatty() and sys.stderr.isatty()

    def _given(self, plan: ExecutionPlan) -> Approval | None:
        return None if self._is_of_another(plan) else approve(plan)

    def _is_of_another(self, plan: ExecutionPlan) -> bool:
        return self.digest is not None and plan.digest != self.digest

    async def _ask(self, plan: ExecutionPlan) -> Approval | None:
        self.display.pause()
        console = err()
        console.print(ApprovalView(effect_steps(plan, self.tools), plan.digest))
        console.print("Run it? [y/N] ", end="")
        said = await _line()
        self.display.go_on()
        return approve(plan) if said.strip().lower() in ("y", "yes") else None


async def _line() -> str:
    """Read a line from the terminal, so that an interrupt ends the wait."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    number = sys.stdin.fileno()
    try:
        loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
    except NotImplementedError:  # some loops watch sockets only
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        await ready
    finally:
        loop.remove_reader(number)
    return os.read(number, 1_000).decode("utf-8", "replace")
