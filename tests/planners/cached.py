"""How the tests ask a planner that remembers, and the planner below it that counts."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from tests.planners.planned import TODAY, demo
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Draft, Proposal, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.schema.tool import Toolbox
from toolplan.storage.plan_cache import PlanCache
from toolplan_offline import OfflinePlanner

OFFLINE = OfflinePlanner()


@dataclass
class Counting:
    """The offline planner, counting what it is asked."""

    asked: list[str] = field(default_factory=list[str])
    attempts_seen: list[Sequence[Attempt]] = field(default_factory=list[Sequence[Attempt]])
    error: Exception | None = None

    async def propose(
        self, question: Question, tools: Toolbox, attempts: Sequence[Attempt], **_: object
    ) -> Proposal:
        self.asked.append(question.text)
        self.attempts_seen.append(attempts)
        if self.error is not None:
            raise self.error
        return OFFLINE.plan(question, tools)


def caching(
    inner: Counting | None = None,
    store: PlanCache | None = None,
    *,
    name: str = "offline",
    version: str = "1",
) -> CachedPlanner:
    return CachedPlanner(
        inner or Counting(), PlanCache() if store is None else store, name=name, version=version
    )


def ask(planner: CachedPlanner, text: str, *, today: str = TODAY, **changes: Json) -> Proposal:
    question = replace(Question(text, today), **changes)
    return asyncio.run(planner.propose(question, demo(), ()))


def learn(planner: CachedPlanner, text: str, *, today: str = TODAY, context: Json = None) -> Draft:
    question = Question(text, today, context)
    proposal = asyncio.run(planner.propose(question, demo(), ()))
    assert isinstance(proposal, Draft)
    planner.keep(question, demo(), proposal)
    return proposal


def plan_of(proposal: Proposal) -> tuple[Json, Json]:
    assert isinstance(proposal, Draft)
    document = json.loads(proposal.text)
    return document["steps"], document.get("output")


def metadata_of(proposal: Proposal) -> dict[str, Json]:
    assert isinstance(proposal, Draft)
    return json.loads(proposal.text)["metadata"]
