"""The planner as Clear AI has it: `await PlannerAgent(provider).plan(query)`."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.compiler import parse, to_text
from toolplan.diagnostics import Diagnostic
from toolplan.path import Json
from toolplan.plan import Plan as CanonicalPlan
from toolplan.plan_json import dump
from toolplan.planners import (
    Attempt,
    Clarification,
    Draft,
    LLMPlanner,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.cache import CachedPlanner
from toolplan.planners.context import PlannerContext
from toolplan.planners.conversation import FOLLOW_UP_OF, Pending, Turn, read_conversation
from toolplan.planners.offline import offline_planner
from toolplan.providers import Model, ModelError
from toolplan.storage.plan_cache import PlanCache
from toolplan.tools import Tool, Toolbox
from toolplan_adapters.clear.endpoint import Provider, Sleep, as_model
from toolplan_adapters.clear.errors import ClarificationNeeded, PlannerError, plan_error
from toolplan_adapters.clear.plan import DIALECT, Plan
from toolplan_adapters.clear.settings import PlannerConfig
from toolplan_adapters.clear.tools import MCPServer, as_tool, demo_tools, iso

_NOT_A_PLAN: Final = frozenset({"llm-ambiguous", "llm-degenerate", "llm-empty"})
"""Replies that hold no plan: the model is asked again without a delay."""
_YES: Final = re.compile(
    r"(?:(?:yes|ok|okay|sure|right|correct|confirmed|confirm|do it|go ahead) )+"
)
_NO: Final = re.compile(r"(?:(?:no|don't|never mind|cancel that|stop|nope|not now) )+")
_POLITE: Final = re.compile(r"\b(?:please|thanks|thank you|that's|then)\b|[,.!?]", re.I)
_LONGEST_ANSWER: Final = 200
_SHORTEST_TTL_S: Final = 1e-9  # plans expire at once
_ARGUMENTS: Final = frozenset(
    {"argument-type", "argument-value", "list-into-scalar", "missing-argument"}
    | {"not-a-list", "reference-type", "unknown-argument", "unknown-output"}
)
"""Problems that lax validation allows: a plan with these can be shown, but does not run."""


@runtime_checkable
class Conversation(Protocol):
    """The conversation so far: Clear AI's context manager."""

    def get_messages(self) -> Sequence[Mapping[str, object]]:
        """Return the messages, `{"role", "content", "timestamp"?}`, the oldest first."""
        ...


ConversationOrTools: TypeAlias = Conversation | MCPServer
"""The second argument of a planner; the two editions of Clear AI differ."""


class PlannerAgent:
    """Turns a question into a checked plan, with a model, and caches good plans."""

    def __init__(
        self,
        llm_provider: Model | Provider,
        context_manager: ConversationOrTools | None = None,
        config: PlannerConfig | Mapping[str, object] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        today: Callable[[], date] = date.today,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Prepare the planner.

        Args:
            llm_provider: a model, or an object with `generate`.
            context_manager: the conversation so far, for questions without a context; or the server
                whose tools plans may call.
            config: settings; a mapping may use either spelling of their names.
            clock: returns the seconds since the epoch.
            today: returns the date for words like "last week".
            sleep: waits before a failed request is repeated.
        """
        self.config = PlannerConfig.of(config)
        self._model = as_model(llm_provider, self.config.max_retries, sleep)
        self._server = context_manager if isinstance(context_manager, MCPServer) else None
        self._conversation = context_manager if isinstance(context_manager, Conversation) else None
        self._clock = clock
        self._today = today
        available = self.config.available_tools.values()
        self._tools = Toolbox(map(as_tool, available)) if available else demo_tools()
        self._open = _OpenToolbox(self._tools)
        llm = LLMPlanner(
            self._model,
            temperature=self.config.temperature,
            max_tokens=self.config.max_tokens,
            requests=self.config.max_retries,
        )
        planner: Planner = _EveryReplyCounts(llm)
        self._cache = PlanCache(
            max_size=self.config.cache_max_size,
            ttl_s=max(self.config.cache_ttl / 1000, _SHORTEST_TTL_S),
            clock=clock,
        )
        if self.config.enable_caching:
            version = f"{llm.version}/{self.config.temperature}"
            planner = CachedPlanner(planner, self._cache, name=self._model.name, version=version)
        self._planner = _OfflineFirst(planner)

    async def plan(self, query: str, context: Json = None) -> Plan:
        """Return a checked plan for `query`.

        `context` is the conversation, in the shape of `toolplan.planners.Question`. If it holds a
        plan or an open question, a follow-up to it needs no model.

        Raises:
            ClarificationNeeded: the question is not precise enough.
            PlannerError: no plan could be made; the message names every problem of the last
                attempt.
        """
        today = self._today()
        background = self._context() if context is None else context
        notes: dict[str, Json] = {"query": query, "reference_date": today.isoformat()}
        attempts = self.config.max_retries
        app = App(self.toolbox, self._planner, attempts=attempts, metadata=notes, clock=self._clock)
        try:
            asked = await app.plan(query, today=today, context=background)
        except ModelError as error:
            raise PlannerError(error.with_help) from error
        if not self.config.strict_validation and asked.plan is None:
            draft = None if asked.compiled is None else asked.compiled.draft
            blocking = _blocking(asked)
            if draft is not None and all(each.code in _ARGUMENTS for each in blocking):
                metadata = {**draft.metadata, **notes, "created_at": iso(self._clock())}
                return Plan(replace(draft, metadata=metadata), blocking)
        return planned(asked)

    def clear_cache(self) -> None:
        """Remove all plans from the cache."""
        self._cache.clear()

    def get_cache_stats(self) -> dict[str, float]:
        """Return the usage of the cache: `size`, `maxSize` and `utilizationPercent` (0 to 100)."""
        stats = self._cache.stats()
        return {
            "size": stats.size,
            "maxSize": stats.max_size,
            "utilizationPercent": stats.utilization_percent,
        }

    @property
    def toolbox(self) -> Toolbox:
        """The tools that plans may call."""
        known = self._tools if self._server is None else self._server.toolbox
        if self.config.validate_tool_availability:
            return known
        if self._open.known is not known:  # planners recognise a toolbox by its identity
            self._open = _OpenToolbox(known)
        return self._open

    def _context(self) -> Json:
        """Return the conversation as a context: the questions, the latest first."""
        said = self._conversation
        messages: Sequence[Mapping[str, object]] = () if said is None else said.get_messages()
        episodes: list[Json] = [
            {"query": query, "timestamp": str(message.get("timestamp") or "")}
            for message in messages
            if message.get("role") == "user" and isinstance(query := message.get("content"), str)
        ]
        return {"episodic": episodes[::-1]} if episodes else None


def planned(asked: AskResult) -> Plan:
    """Return the plan of a question.

    Raises:
        ClarificationNeeded: the planner asked back.
        PlannerError: there is no plan, or it did not pass its check.
    """
    if asked.plan is not None:
        return Plan(asked.plan.plan)
    match asked.proposal:
        case Clarification() as clarification:
            raise ClarificationNeeded(clarification)
        case Refusal(reason=reason):
            raise PlannerError(reason)
        case Draft():
            tries = len(asked.attempts)
            message = f"Failed to generate valid plan after {tries} attempt{'s' * (tries != 1)}"
            draft = None if asked.compiled is None else asked.compiled.draft
            raise plan_error(message, _blocking(asked), draft)


def _blocking(asked: AskResult) -> tuple[Diagnostic, ...]:
    found = () if asked.compiled is None else asked.compiled.diagnostics
    return tuple(each for each in found if each.blocks)


class _EveryReplyCounts:
    """A planner that returns every reply of its model as a draft, even if it is not a plan.

    So the model is shown the problem and asked again, and every reply is counted.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        try:
            found = await self._planner.propose(question, tools, attempts, on_text=on_text)
        except ModelError as error:
            used = error.usage.calls
            if error.code in ("llm-no-progress", "llm-budget") and attempts:
                return replace(attempts[-1].draft, requests=used)
            if error.code in _NOT_A_PLAN:
                return Draft("", DIALECT, requests=used)
            raise
        # steps without ids, for instance, are read in Clear AI's form only
        if isinstance(found, Draft) and not _reads(found, found.dialect) and _reads(found, DIALECT):
            return replace(found, dialect=DIALECT)
        return found


class _OfflineFirst:
    """Plans a follow-up, or an answer to an open question, offline if possible.

    All other questions go to the model.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._offline = offline_planner(PlannerContext(Path()))

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        before = read_conversation(question.context)
        if not attempts and (before.pending is not None or before.last is not None):
            decided = None if before.pending is None else _decided(before.pending, question.text)
            if decided is not None:
                return decided
            asked = (
                question if before.last is None else await self._read(question, tools, before.last)
            )
            offline = await self._offline.propose(asked, tools, ())
            plan = parse(offline.text).plan if isinstance(offline, Draft) else None
            if plan is not None and (before.pending or FOLLOW_UP_OF in plan.metadata):
                return offline
        return await self._planner.propose(question, tools, attempts, on_text=on_text)

    async def _read(self, question: Question, tools: Toolbox, last: Turn) -> Question:
        """Return the question with the plan before it as the offline planner writes it.

        A follow-up changes what a question means. A plan that a model made does not say that; where
        the offline planner has the same plan for its question, that one does.
        """
        day = last.plan.metadata.get("reference_date")
        asked = Question(last.query, day if isinstance(day, str) else question.today)
        found = await self._offline.propose(asked, tools, ())
        plan = parse(found.text, found.dialect).plan if isinstance(found, Draft) else None
        if plan is None or _steps(plan) != _steps(last.plan):
            return question
        episode: Json = {"query": last.query, "plan": dump(plan)}
        context = question.context if isinstance(question.context, dict) else {}
        return replace(question, context={**context, "episodic": [episode]})

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        if isinstance(self._planner, Remembering):
            self._planner.keep(question, tools, draft)

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        if isinstance(self._planner, Remembering):
            self._planner.drop(question, tools, draft)


def _steps(plan: CanonicalPlan) -> str:
    """Return the steps of a plan without their names."""
    return to_text(replace(plan, metadata={}), DIALECT)


def _decided(pending: Pending, text: str) -> Proposal | None:
    """Return what a yes or no to an open question means; None for any other message."""
    said = " ".join(_POLITE.sub(" ", text[:_LONGEST_ANSWER]).casefold().split()) + " "
    if _YES.fullmatch(said) and pending.plans and pending.plans[0] is not None:
        return Draft(json.dumps(pending.plans[0], ensure_ascii=False))
    if _YES.fullmatch(said) or _NO.fullmatch(said):
        return Clarification("What would you like instead?", pending.options)
    return None


def _reads(draft: Draft, dialect: str) -> bool:
    return not any(each.blocks for each in parse(draft.text, dialect).diagnostics)


class _OpenToolbox(Toolbox):
    """The tools of `known`, and for every other name a tool that cannot be called."""

    def __init__(self, known: Toolbox) -> None:
        super().__init__(known.values())
        self.known = known

    def __getitem__(self, name: str) -> Tool:
        if name in self.known or self.alias(name) is not None:
            return super().__getitem__(name)
        return Tool(name, "", {"type": "object", "additionalProperties": True})
