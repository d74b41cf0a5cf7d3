"""Planners one above the other: the cheapest that can plan a question does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from toolplan.path import Json
from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.providers import ModelError
from toolplan.tools import Toolbox


class Rung(NamedTuple):
    """A planner, and the name by which it is told: `grounded`, `llm`."""

    name: str
    planner: Planner


class Escalation(NamedTuple):
    """A rung could not plan, and the next one was asked; `reason` is a sentence."""

    rung: str
    reason: str


OnStepUp: TypeAlias = Callable[[Escalation], None]


class FallbackChain:
    """Asks one planner after the other, until one gives a draft.

    A refusal ends it: what no tool may do, no better planner shall find a way to. A rung that asks
    back is stepped over; if no higher one can plan either, its question is the answer, for it costs
    nothing to be asked by a planner that knows what it misses. What it has understood goes up with
    the question, as a draft to begin with (`context["draft"]`).
    """

    def __init__(self, rungs: Sequence[Rung], *, on_step_up: OnStepUp | None = None) -> None:
        """Take the rungs, the cheapest first, and who is told of each step up.

        Raises:
            ValueError: there is none.
        """
        if not rungs:
            raise ValueError("A ladder needs at least one rung.")
        self._rungs = tuple(rungs)
        self._on_step_up = on_step_up

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the first draft, or the first question back that no higher rung made needless.

        Raises:
            ModelError: the last rung's model failed, and no rung before it had asked back.
        """
        asked_back: Clarification | None = None
        for rung in self._rungs:
            is_last = rung is self._rungs[-1]
            try:
                proposal = await rung.planner.propose(question, tools, attempts, on_text=on_text)
            except ModelError as error:
                if is_last and asked_back is None:
                    raise
                self._report(Escalation(rung.name, f"{error} {error.help}".strip()))
                continue
            match proposal:
                case Draft():
                    return replace(proposal, planner=proposal.planner or rung.name)
                case Refusal():
                    return proposal
                case Clarification():
                    asked_back = proposal if is_last else asked_back or proposal
                    if not is_last:
                        self._report(Escalation(rung.name, _reason(proposal)))
                        question = _with_draft(question, proposal)
        if asked_back is None:
            raise RuntimeError("No rung has said anything.")
        return asked_back

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on what became of `draft`."""
        for rung in self._rungs:
            if isinstance(rung.planner, Remembering):
                rung.planner.keep(question, tools, draft)

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on what became of `draft`."""
        for rung in self._rungs:
            if isinstance(rung.planner, Remembering):
                rung.planner.drop(question, tools, draft)

    def _report(self, step: Escalation) -> None:
        if self._on_step_up is not None:
            self._on_step_up(step)


def _reason(proposal: Clarification) -> str:
    if proposal.unexplained:
        words = ", ".join(map(repr, proposal.unexplained))
        return f"nothing accounts for {words}"
    return proposal.question


def _with_draft(question: Question, proposal: Clarification) -> Question:
    if proposal.partial_plan is None:
        return question
    known = question.context if isinstance(question.context, dict) else {}
    draft: Json = {"plan": proposal.partial_plan, "unexplained": list(proposal.unexplained)}
    return replace(question, context={**known, "draft": draft})
