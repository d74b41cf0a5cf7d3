"""Answers of an approver that leave calls out: their step waits until another plan is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from msgspec.structs import replace

from toolplan.app._approve import Approve, ByPlan, by_values
from toolplan.approval import Approver
from toolplan.consent import Answer, Decide, Effect, LeaveOut, ValueApproval
from toolplan.errors import ToolplanError
from toolplan.execution_plan import ExecutionPlan


class Heard:
    """Asks an approver, and keeps which calls are to be left out, and which are made then."""

    def __init__(self, approve: Approve | None, *, is_kept: bool) -> None:
        """Ask `approve`; `is_kept` says whether the run is in a journal."""
        self._is_kept = is_kept
        self.approve = self._hearing(approve)
        """What a run takes as its approver."""
        self.left_out: list[Effect] = []
        self.allowed: list[Effect] = []

    def take(self) -> tuple[list[Effect], list[Effect]]:
        """Return the calls that are left out and those that are made, and forget them."""
        left_out, allowed = self.left_out, self.allowed
        self.left_out, self.allowed = [], []
        return left_out, allowed

    def _hearing(self, approve: Approve | None) -> Approve | None:
        if isinstance(approve, ByPlan):
            choose = approve.choose

            def chosen(plan: ExecutionPlan) -> Approver | ValueApproval:
                return self._chosen(choose(plan))

            return replace(approve, choose=chosen)
        values = by_values(approve)
        return approve if values is None else self._chosen(values)

    def _chosen(self, given: Approver | ValueApproval) -> Approver | ValueApproval:
        if not isinstance(given, ValueApproval) or given.decide is None:
            return given
        decide = given.decide

        async def asked(effects: tuple[Effect, ...]) -> Mapping[str, Answer] | None:
            return await self._ask(decide, effects)

        return replace(given, decide=asked)

    async def _ask(
        self, decide: Decide, effects: tuple[Effect, ...]
    ) -> Mapping[str, Answer] | None:
        waiting = {each.step for each in self.left_out}
        new = tuple(each for each in effects if each.step not in waiting)
        if not new:
            return None
        asked = decide(new)
        given = await asked if inspect.isawaitable(asked) else asked
        answers: dict[str, Answer] = {}
        for step in dict.fromkeys(each.step for each in new):
            calls = tuple(each for each in new if each.step == step)
            answer = given.get(step) if isinstance(given, Mapping) else given
            if isinstance(answer, LeaveOut):
                answer = self._keep(step, calls, answer)
            answers[step] = answer
        return answers

    def _keep(self, step: str, calls: tuple[Effect, ...], answer: LeaveOut) -> Answer:
        """Keep which calls are left out; return the answer for this run."""
        items = {each.item for each in calls}
        unknown = [each for each in answer.items if each not in items or isinstance(each, bool)]
        if unknown or None in items:
            raise ToolplanError("bad-answer", f"No call {unknown} of step {step!r} waits.")
        if not answer.items:
            return True
        if len(set(answer.items)) == len(items):
            return False
        if not self._is_kept:
            raise ToolplanError(
                "bad-answer",
                f"Calls of {step!r} are to be left out, and this run is in no journal.",
                "What is left is another plan, which takes over what is done: keep runs.",
            )
        for each in calls:
            (self.left_out if each.item in answer.items else self.allowed).append(each)
        return None
