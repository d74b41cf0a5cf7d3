"""The planner that asks a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Literal, TypeAlias

from toolplan.path import Json
from toolplan.planners._base import Attempt, Draft, DraftText, OnText, Proposal, Question
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.llm._prompt import PROMPT_VERSION, kirha_messages, messages, plan_schema
from toolplan.planners.llm._reply import read_reply
from toolplan.providers import Ended, Model, ModelError, ModelRequest, Restarted, Text, Usage
from toolplan.tool_search import FEW, relevant
from toolplan.tools import Toolbox

Style: TypeAlias = Literal["toolplan", "kirha"]
"""How a model is asked: `kirha` for models that were trained for kirha's form of plans."""


class LLMPlanner:
    """Plans with one request to a model; what is wrong with the plan goes back to it.

    A model's plan is a draft like any other: it counts for nothing until it has passed its check.
    """

    def __init__(
        self,
        model: Model,
        *,
        weeks: Weeks = "rolling",
        style: Style = "toolplan",
        temperature: float = 0.0,
        max_tokens: int = 10_000,
        most_tools: int = FEW,
        instructions: str = "",
    ) -> None:
        """Hold what the model is asked with.

        Args:
            model: whom to ask.
            weeks: what *last week* is: see `toolplan.planners.grounded.dates`.
            style: how to ask.
            temperature: of the model, 0 for the likeliest words.
            max_tokens: the most tokens of a plan.
            most_tools: with more tools than these, those that may be of use are shown.
            instructions: what the user wants to be heeded in every plan.
        """
        self.model = model
        self.usage = Usage()
        """What all requests so far have used."""
        self._weeks: Weeks = weeks
        self._style: Style = style
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._most_tools = most_tools
        self._instructions = instructions

    @property
    def name(self) -> str:
        """How a plan says who wrote it."""
        return f"llm/{self.model.name}"

    @property
    def version(self) -> str:
        """What tells plans of this planner from those of another model or of other words."""
        return f"{self.model.name}/{self._style}/{PROMPT_VERSION}"

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Ask the model, and give what it proposes.

        Raises:
            ModelError: no whole reply came, or one of no use: empty, two plans that differ
                (`llm-ambiguous`), a plan that was refused already (`llm-no-progress`).
        """
        text = await self._written(self._request(question, tools, attempts), on_text)
        proposal = read_reply(text, self._style)
        if not isinstance(proposal, Draft):
            return proposal
        if any(_same(proposal, each.draft) for each in attempts):
            raise ModelError(
                "llm-no-progress",
                f"{self.model.name} gave a plan again that was refused already{_why(attempts)}.",
                "Ask in other words, or name another model with --model.",
            )
        return replace(proposal, planner=self.name)

    def _request(
        self, question: Question, tools: Toolbox, attempts: Sequence[Attempt]
    ) -> ModelRequest:
        shown = relevant(tools, question.text, self._most_tools)
        schema: Json = None
        match self._style:
            case "kirha":
                asked = kirha_messages(question, shown, attempts, instructions=self._instructions)
            case "toolplan":
                asked = messages(
                    question, shown, attempts, weeks=self._weeks, instructions=self._instructions
                )
                schema = plan_schema(shown)
        return ModelRequest(asked, schema, self._temperature, self._max_tokens)

    async def _written(self, request: ModelRequest, on_text: OnText | None) -> str:
        """Return the whole reply, and pass its text to `on_text` as it comes."""

        def report(text: str, *, starts: bool = False) -> None:
            if on_text is not None:
                on_text(DraftText(text, self._style, self.name, starts))

        parts: list[str] = []
        report("", starts=True)
        async with aclosing(self.model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case Text(text=text):
                        parts.append(text)
                        report(text)
                    case Restarted():
                        parts.clear()
                        report("", starts=True)
                    case Ended(usage=usage):
                        self.usage = _sum(self.usage, usage)
                        return "".join(parts)
        raise ModelError(
            "llm-stream-cut",
            f"The plan of {self.model.name} ended before it was whole.",
            "Ask again, or name another model with --model.",
        )


def _why(attempts: Sequence[Attempt]) -> str:
    """Say what was wrong with the last plan, as an end of a sentence."""
    problem = next((each for each in attempts[-1].diagnostics if each.blocks), None)
    if problem is None:
        return ""
    place = f" at {problem.pointer}" if problem.pointer else ""
    return f": {problem.code}{place}, {problem.message.rstrip('.')}"


def _same(one: Draft, other: Draft) -> bool:
    """Whether two drafts say the same plan, as far as can be told without reading plans."""
    return one.text == other.text or (
        one.dialect == other.dialect and _plain(one.text) == _plain(other.text)
    )


def _plain(text: str) -> Json:
    """Return a draft without what does not run: layout, and advice in JSON."""
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):
        return " ".join(text.split())
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != "metadata"}
    return document


def _sum(one: Usage, other: Usage) -> Usage:
    known = [each for each in (one.cost_usd, other.cost_usd) if each is not None]
    return Usage(
        one.calls + other.calls,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        sum(known) if known else None,
    )
