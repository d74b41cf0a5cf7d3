"""An orchestrator over the demo, with scripted parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from packages.adapters.tests.doubles import NOW, TODAY, Naps, Provider, plan_text
from toolplan.storage.memory import Memory
from toolplan.tools import Toolbox
from toolplan_adapters.clear import (
    Analysis,
    Execution,
    Executor,
    Orchestrator,
    PlannerAgent,
    Response,
    Summarizer,
)
from toolplan_demo import demo_tools

DEMO = demo_tools(TODAY, rows=60)
CONTAMINATED = plan_text({"tool": "shipments_list", "params": {"has_contaminants": True}})


def orchestrator(
    provider: Provider,
    tools: Toolbox = DEMO,
    *,
    analyzer: Analyses | None = None,
    summarizer: Words | Summarizer | None = None,
    memory: Memory | None = None,
    **settings: object,
) -> Orchestrator:
    tools_by_name = {"availableTools": dict(tools)}
    planner = PlannerAgent(provider, None, tools_by_name, today=lambda: TODAY, sleep=Naps())
    return Orchestrator(
        planner,
        Executor(tools, {"retryDelay": 0}),
        analyzer=analyzer,
        summarizer=summarizer,
        memory=memory,
        config=settings,
        clock=lambda: NOW,
        today=lambda: TODAY,
        new_id=lambda: "r1",
    )


def ask(
    made: Orchestrator, query: str = "Get contaminated shipments", session: str = ""
) -> Response:
    return asyncio.run(made.handle_query(query, session=session))


class Analyses:
    """An analyser with a scripted result."""

    def __init__(self, does: Callable[[Execution], Analysis]) -> None:
        self.analyze = does


class Words:
    """A summariser with a scripted result."""

    def __init__(self, does: Callable[[Analysis], str]) -> None:
        self._does = does

    async def summarize(self, analysis: Analysis, /) -> str:
        return self._does(analysis)
