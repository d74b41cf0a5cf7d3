"""The planner as Clear AI has it: `await PlannerAgent(provider).plan(query)`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.compiler import parse
from toolplan.plan.path import Json
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
)
from toolplan.planners.cache import CachedPlanner
from toolplan.providers import Ended, Model, ModelError, ModelRequest, Piece, Text, Usage
from toolplan.schema.tool import Toolbox
from toolplan.storage.memory import Memory
from toolplan.storage.plan_cache import PlanCache
from toolplan_adapters._calls import call_user
from toolplan_adapters.clear.errors import ClarificationNeeded, PlannerError, plan_error
from toolplan_adapters.clear.plan import DIALECT, Plan
from toolplan_adapters.clear.settings import PlannerConfig
from toolplan_adapters.clear.tools import MCPServer, as_tool, demo_tools

Sleep: TypeAlias = Callable[[float], Awaitable[object]]

FIRST_DELAY_S: Final = 1.0
"""The delay before the second attempt; doubled before each further one."""


@runtime_checkable
class Provider(Protocol):
    """A provider of replies in Clear AI.

    `generate` is called with `{"messages": [{"role", "content"}], "config": {"temperature",
    "max_tokens"}}` and returns `{"content": text, "usage": {…}}`, an object with such attributes,
    or the text alone; it may be a coroutine function. If it raises anything, the request is
    repeated after a delay.
    """

    def generate(self, request: dict[str, object], /) -> object:
        """Return a reply."""
        ...


class ProviderModel(Struct, frozen=True):
    """A provider as a `Model`; `tries` is the maximum number of requests for one reply."""

    provider: Provider
    tries: int = 3
    sleep: Sleep = asyncio.sleep
    name: str = "clear:provider"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply, in one piece.

        Raises:
            ModelError: the provider failed every time, or its reply holds no text.
        """
        asked: dict[str, object] = {
            "messages": [{"role": each.role, "content": each.text} for each in request.messages],
            "config": {"temperature": request.temperature, "max_tokens": request.max_tokens},
        }
        failure: Exception | None = None
        tries = min(self.tries, request.most_calls or self.tries)
        for made in range(1, tries + 1):
            try:
                reply = await call_user(self.provider.generate, asked)
            except ModelError:
                raise
            except Exception as error:  # a provider may raise anything; its text may hold a key
                failure = error
            else:
                content = reply if isinstance(reply, str) else _part(reply, "content")
                if not isinstance(content, str):
                    raise ModelError(
                        "llm-bad-response",
                        "The provider's reply has no 'content' that is text.",
                        "Return {'content': text} from `generate`.",
                    )
                used = _part(reply, "usage")
                counts = [_part(used, name) for name in ("prompt_tokens", "completion_tokens")]
                usage = Usage(made, *(each if isinstance(each, int) else 0 for each in counts))
                yield Text(content)
                yield Ended(self.name, usage)
                return
            if made < tries:
                await self.sleep(FIRST_DELAY_S * 2 ** (made - 1))
        raise ModelError(
            "llm-unavailable",
            f"The provider failed {tries} times, the last time with {type(failure).__name__}.",
            "The cause of this error is the exception of the provider.",
        ) from failure


def _part(whole: object, name: str) -> object:
    if isinstance(whole, Mapping):
        return cast("Mapping[str, object]", whole).get(name)
    return getattr(whole, name, None)


_NOT_A_PLAN: Final = frozenset({"llm-ambiguous", "llm-degenerate", "llm-empty"})
"""Replies that hold no plan: the model is asked again without a delay."""
_SHORTEST_TTL_S: Final = 1e-9  # plans expire at once


@runtime_checkable
class Conversation(Protocol):
    """The conversation so far: Clear AI's context manager."""

    def get_messages(self) -> Sequence[Mapping[str, object]]:
        """Return the messages, `{"role", "content", "timestamp"?}`, the oldest first."""
        ...


class PlannerAgent:
    """Turns a question into a checked plan, with a model, and caches good plans."""

    def __init__(
        self,
        llm_provider: Model | Provider,
        context_manager: Conversation | MCPServer | None = None,
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
                whose tools plans may call: the two editions of Clear AI differ.
            config: settings; a mapping may use either spelling of their names.
            clock: returns the seconds since the epoch.
            today: returns the date for words like "last week".
            sleep: waits before a failed request is repeated.

        Raises:
            TypeError: `llm_provider` is neither a model nor a provider.
        """
        self.config = PlannerConfig.of(config)
        self.clock = clock
        self.today = today
        if isinstance(llm_provider, Provider):  # first, because a mock has every attribute
            model: Model = ProviderModel(llm_provider, self.config.max_retries, sleep)
        elif hasattr(llm_provider, "stream") and hasattr(llm_provider, "name"):
            model = llm_provider
        else:
            kind = type(llm_provider).__name__
            raise TypeError(f"A planner needs a model, or an object with 'generate', not a {kind}.")
        self._conversation = context_manager if isinstance(context_manager, Conversation) else None
        self._server = context_manager if isinstance(context_manager, MCPServer) else None
        available = self.config.available_tools.values()
        self._tools = Toolbox(map(as_tool, available)) if available else demo_tools()
        llm = LLMPlanner(
            model,
            temperature=self.config.temperature,
            max_tokens=self.config.max_tokens,
            requests=self.config.max_retries,
        )
        self._cache = PlanCache(
            max_size=self.config.cache_max_size,
            ttl_s=max(self.config.cache_ttl / 1000, _SHORTEST_TTL_S),
            clock=clock,
        )
        self.planner: Planner = _EveryReplyCounts(llm)
        if self.config.enable_caching:
            version = f"{llm.version}/{self.config.temperature}"
            self.planner = CachedPlanner(
                self.planner, self._cache, name=model.name, version=version
            )

    async def plan(self, query: str, context: Json = None) -> Plan:
        """Return a checked plan for `query`.

        `context` is the conversation, in the shape of `toolplan.planners.Question`.

        Raises:
            ClarificationNeeded: the question is not precise enough.
            PlannerError: no plan could be made; the message names every problem of the last
                attempt.
        """
        background = self._context() if context is None else context
        try:
            asked = await self.app(query).plan(query, today=self.today(), context=background)
        except ModelError as error:
            raise PlannerError(error.with_help) from error
        return planned(asked)

    def app(self, query: str, planner: Planner | None = None, memory: Memory | None = None) -> App:
        """Return the app that plans `query`, by default with the planner of this agent."""
        return App(
            self.toolbox,
            planner or self.planner,
            attempts=self.config.max_retries,
            metadata={"query": query, "reference_date": self.today().isoformat()},
            memory=memory,
            clock=self.clock,
        )

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
        return self._tools if self._server is None else self._server.toolbox

    def _context(self) -> Json:
        """Return the conversation as a context: the questions, the latest first."""
        messages = () if self._conversation is None else self._conversation.get_messages()
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
            compiled = asked.compiled
            if compiled is None:
                raise PlannerError(message)
            raise plan_error(message, compiled.diagnostics, compiled.draft)


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


def _reads(draft: Draft, dialect: str) -> bool:
    return not any(each.blocks for each in parse(draft.text, dialect).diagnostics)
