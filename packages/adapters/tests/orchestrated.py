"""An orchestrator over the demo, with scripted parts."""

from packages.adapters.tests.doubles import NOW, TODAY, Naps, Provider, plan_text
from toolplan.schema.tool import Toolbox
from toolplan.show.summary.summariser import Summariser
from toolplan.storage.memory import Memory
from toolplan_adapters.clear import Executor, Orchestrator, PlannerAgent
from toolplan_demo import demo_tools

DEMO = demo_tools(TODAY, rows=60)
CONTAMINATED = plan_text({"tool": "shipments_list", "params": {"has_contaminants": True}})
QUERY = "Get contaminated shipments"


def orchestrator(
    provider: Provider,
    tools: Toolbox = DEMO,
    *,
    summarizer: Summariser | None = None,
    memory: Memory | None = None,
    **settings: object,
) -> Orchestrator:
    planner = PlannerAgent(
        provider,
        None,
        {"availableTools": dict(tools)},
        clock=lambda: NOW,
        today=lambda: TODAY,
        sleep=Naps(),
    )
    return Orchestrator(
        planner,
        Executor(tools, {"retryDelay": 0}),
        summarizer=summarizer,
        memory=memory,
        config=settings,
    )
