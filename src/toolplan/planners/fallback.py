"""A chain of planners: the cheapest that can plan a question does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    OnText,
    Planner,
    Proposal,
    Question,
    Remembering,
)
from toolplan.providers import ModelError
from toolplan.schema.tool import Toolbox


class Escalation(Struct, frozen=True):
    """A planner had no plan, and the next one was asked; `reason` is a sentence."""

    planner: str
    reason: str


OnEscalation: TypeAlias = Callable[[Escalation], None]


class FallbackChain:
    """Asks one planner after the other, until one returns a draft.

    A refusal ends the chain: no other planner may plan it. After a
    clarification the next planner is asked, with the understood part as a draft to start from
    (`context["draft"]`). If the last planner has a clarification too, that is the result; if its
    model fails, that error is, and no word of the question is blamed for it.
    """

    def __init__(
        self, planners: Mapping[str, Planner], *, on_escalation: OnEscalation | None = None
    ) -> None:
        """Chain `planners`, the cheapest first, by their names: `offline`, `llm`.

        `on_escalation` is called for each planner without a plan, once another one has answered;
        where a model fails instead, its error is raised.

        Raises:
            ValueError: there is no planner.
        """
        if not planners:
            raise ValueError("A fallback chain needs at least one planner.")
        self._planners = dict(planners)
        self._on_escalation = on_escalation

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the first draft or refusal; else a clarification.

        Raises:
            ModelError: the model of the last planner failed.
        """
        last = next(reversed(self._planners))
        passed: list[Escalation] = []
        for name, planner in self._planners.items():
            try:
                proposal = await planner.propose(question, tools, attempts, on_text=on_text)
            except ModelError as error:
                if name == last:
                    raise
                passed.append(Escalation(name, error.with_help))
                continue
            if isinstance(proposal, Clarification) and name != last:
                reason = proposal.question
                if proposal.unexplained:
                    words = ", ".join(map(repr, proposal.unexplained))
                    reason = f"it did not understand {words}"
                passed.append(Escalation(name, reason))
                if proposal.partial_plan is not None:
                    known = question.context if isinstance(question.context, dict) else {}
                    unexplained: Json = [*proposal.unexplained]
                    draft: Json = {"plan": proposal.partial_plan, "unexplained": unexplained}
                    question = replace(question, context={**known, "draft": draft})
                continue
            if self._on_escalation is not None:
                for each in passed:
                    self._on_escalation(each)
            if isinstance(proposal, Draft):
                return replace(proposal, planner=proposal.planner or name)
            return proposal
        raise RuntimeError("No planner proposed anything.")

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on that `draft` worked."""
        for planner in self._planners.values():
            if isinstance(planner, Remembering):
                planner.keep(question, tools, draft)

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on that the run of `draft` failed."""
        for planner in self._planners.values():
            if isinstance(planner, Remembering):
                planner.drop(question, tools, draft)
