"""The planner that calls a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from toolplan.compiler.rules.grounding import Said
from toolplan.dates import Weeks
from toolplan.plan.model import all_text
from toolplan.plan.path import Json
from toolplan.planners._base import Attempt, Draft, DraftText, OnText, Proposal, Question, times_of
from toolplan.planners.context import PlannerContext
from toolplan.planners.llm._plan_schema import plan_schema
from toolplan.planners.llm._prompt import PROMPT_VERSION, kirha_messages, may_ask, messages
from toolplan.planners.llm._reply import read_reply, with_own_ids
from toolplan.providers import (
    Ended,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    Usage,
    complete,
    total,
)
from toolplan.schema.tool import Toolbox
from toolplan.tools.search import FEW, relevant

_OTHER_TEMPERATURE: Final = 0.7
"""Of the request after a plan that was refused came again."""

Style: TypeAlias = Literal["toolplan", "kirha"]
"""The form of the prompt: `kirha` is for models that were trained for kirha's plans."""


class LLMPlanner:
    """Plans with one request to a model, and with its errors in the next request.

    A model's plan is a draft like any other: it is checked in full.
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
        requests: int | None = None,
        small: bool = False,
    ) -> None:
        """Plan with `model`.

        Args:
            model: the model to call.
            weeks: the meaning of *last week*: see `toolplan.dates`.
            style: the form of the prompt.
            temperature: of the model, 0 for the likeliest words.
            max_tokens: maximum number of tokens of a plan.
            most_tools: maximum number of tools in the prompt; of more, the most relevant are shown.
            instructions: the user's instructions for every plan.
            requests: maximum number of requests for one question, failed ones counted, or None.
            small: whether the model is small, so that its replies need short lists and texts, and
                it may ask back only after two plans that were refused.
        """
        self.model = model
        self.usage = Usage()
        """The usage of all requests so far."""
        self._weeks: Weeks = weeks
        self._style: Style = style
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._most_tools = most_tools
        self._instructions = instructions
        self._requests = requests
        self._small = small

    @property
    def name(self) -> str:
        """Display name, which plans have in their metadata."""
        return f"llm/{self.model.name}"

    @property
    def version(self) -> str:
        """Changes with the model, the style, the form of replies and the prompt."""
        form = "/small" if self._small else ""
        told = f"/{sha256(self._instructions.encode()).hexdigest()}" if self._instructions else ""
        return f"{self.model.name}/{self._style}/{PROMPT_VERSION}{form}{told}"

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Call the model, and return its proposal.

        Raises:
            ModelError: no complete reply came (`llm-stream-cut`), it is empty (`llm-empty`), has
                two different plans (`llm-ambiguous`), the plan that was refused before
                (`llm-no-progress`), or no more requests are allowed (`llm-budget`).
        """
        made = sum(each.draft.requests for each in attempts)
        if self._requests is not None and made >= self._requests:
            raise ModelError(
                "llm-budget",
                f"{self.model.name} was asked {made} times and wrote no plan that passes its"
                f" check.",
                "Ask in other words, or allow more requests (PLANNER_MAX_RETRIES).",
            )
        request = self._request(question, tools, attempts)
        used = Usage()
        for temperature in (self._temperature, max(self._temperature, _OTHER_TEMPERATURE)):
            left = None if self._requests is None else self._requests - made - used.calls
            if left == 0:
                break
            request = replace(request, temperature=temperature, most_calls=left)
            text, spent = await self._written(request, on_text)
            used = total((used, spent))
            try:
                proposal = read_reply(text, self._style)
            except ModelError as error:
                error.usage = used
                raise
            if not isinstance(proposal, Draft):
                return proposal
            if self._small and proposal.dialect == "toolplan":
                proposal = replace(proposal, text=with_own_ids(proposal.text))
            if not any(_same(proposal, each.draft) for each in attempts):
                times = times_of(question, self._weeks)
                return Draft(
                    proposal.text, proposal.dialect, self.name, used.calls, times, self._small
                )
        raise ModelError(
            "llm-no-progress",
            f"{self.model.name} repeated a plan that was refused.",
            "Ask in other words, or name another model with --model.",
            used,
        )

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
                    question,
                    shown,
                    attempts,
                    weeks=self._weeks,
                    instructions=self._instructions,
                    small=self._small,
                )
                asks = may_ask(attempts, small=self._small)
                times = times_of(question, self._weeks)
                words = () if times is None else times.clear
                said = refused = None
                if self._small:
                    before = tuple(all_text(question.context))
                    said = Said((question.text, *before), question.today)
                    refused = attempts[0] if len(attempts) == 1 else None
                schema = plan_schema(
                    shown, small=self._small, asks=asks, times=words, said=said, refused=refused
                )
        return ModelRequest(asked, schema, self._temperature, self._max_tokens)

    async def _written(self, request: ModelRequest, on_text: OnText | None) -> tuple[str, Usage]:
        """Return the complete reply and its usage; pass its text to `on_text` as it comes."""

        def report(piece: Piece) -> None:
            text = piece.text if isinstance(piece, Text) else ""
            if on_text is not None and not isinstance(piece, Ended):
                on_text(DraftText(text, self._style, self.name, isinstance(piece, Restarted)))

        report(Restarted("It begins."))
        reply = await complete(self.model, request, on_piece=report)
        self.usage = total((self.usage, reply.usage))
        return reply.text, reply.usage


def _same(one: Draft, other: Draft) -> bool:
    """Return whether two drafts are the same plan, apart from layout and metadata."""
    return one.text == other.text or (
        one.dialect == other.dialect and _plain(one.text) == _plain(other.text)
    )


def _plain(text: str) -> Json:
    """Return a draft without layout and metadata."""
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):
        return " ".join(text.split())
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != "metadata"}
    return document


_KIRHA = re.compile(r"\bkirha/planner")


def llm(context: PlannerContext) -> LLMPlanner | None:
    """Return the planner that asks the model; None where none is named.

    Models of the kirha family are asked in their own form (F002-22).
    """
    if context.model is None:
        return None
    kirha = bool(context.models) and all(_KIRHA.search(spec) for spec in context.models)
    return LLMPlanner(
        context.model,
        weeks=context.weeks,
        style="kirha" if kirha else "toolplan",
        temperature=context.temperature,
        max_tokens=context.max_tokens,
        instructions=context.instructions,
        requests=context.requests,
        small=context.small_model,
    )
