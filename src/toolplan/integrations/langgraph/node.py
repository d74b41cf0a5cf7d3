"""Plan, check and run as one node, or as one tool, of somebody's own graph.

The node is a graph of its own with two nodes: what was planned is kept before a person is asked,
so that what runs after their word is the very plan that they saw.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Final, Literal, NotRequired, Protocol, TypeAlias, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import END, START
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from toolplan.answer import InsightFunction, answer
from toolplan.app._planning import DEFAULT_ATTEMPTS
from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.approval import Policy
from toolplan.compiler import Tools, compile_plan, output_schemas, to_text, toolbox
from toolplan.diagnostics import Diagnostic
from toolplan.engines import CannotRun
from toolplan.events import to_json
from toolplan.execution_plan import ExecutionPlan
from toolplan.integrations.langgraph._runs import Running, run_name, run_once
from toolplan.integrations.langgraph._storable import storable
from toolplan.integrations.langgraph._wiring import wiring
from toolplan.integrations.langgraph.approval import Refused, ask_approval
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.plan_json import dump
from toolplan.planners import Clarification, Draft, Planner, Refusal
from toolplan.storage.journal import Journal

Kind: TypeAlias = Literal["answered", "failed", "clarification", "refusal", "refused", "no-plan"]

_INTERRUPT: Final = "__interrupt__"
_TOOL_DESCRIPTION: Final = (
    "Answers a question with a plan of tool calls that is checked before anything runs."
)


class Outcome(TypedDict):
    """What came of a question, as plain JSON.

    `kind` says how it ended: `answered`, `failed` (the run did), `clarification` (the planner
    asks), `refusal` (no plan can do that), `refused` (a person did not want it), `no-plan` (no
    draft passed its check). `plan` is canonical, `run` is the wire form; each is None where there
    is none. Integers of more than 64 bits, which no checkpointer keeps, are text in both.
    """

    kind: Kind
    text: str
    plan: Json
    run: Json


class AskInput(TypedDict):
    """What the node reads: its question is the last message of a person."""

    messages: Annotated[list[AnyMessage], add_messages]


class AskState(AskInput):
    """What the node gives: the answer as a message, and all there is to know in `toolplan`."""

    toolplan: NotRequired[Outcome]
    draft: NotRequired[str]


AskGraph: TypeAlias = CompiledStateGraph[AskState, None, AskInput, AskState]


def toolplan_node(
    tools: Tools,
    planner: Planner,
    *,
    insights: Sequence[InsightFunction] = (),
    policy: Policy = Policy(),
    limits: Limits = Limits(),
    attempts: int = DEFAULT_ATTEMPTS,
    journal: Journal | None = None,
    timeout_s: float = 60.0,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> AskGraph:
    """Return a node for `graph.add_node(name, …)`, or a graph to be called by itself.

    It reads `messages` of the state around it and adds its answer to them; where that state has a
    key `toolplan`, it puts the outcome there. Events are told to the stream of custom values. A
    plan with effects interrupts and shows what it may change; see `approved` and `refused`.

    Args:
        tools: what plans may call.
        planner: what proposes plans.
        insights: functions that find more in rows than holds for any rows.
        policy: what plans may use.
        limits: bounds on what is read and run.
        attempts: the most drafts for one question.
        journal: keeps the runs, so that no call with effects is made twice even where the process
            dies while it is made.
        timeout_s: seconds for each call.
        today: the day that "last week" and its like are reckoned from.
        new_id: gives the ids of messages.
    """
    app = App(tools, planner, insights=insights, policy=policy, limits=limits, attempts=attempts)
    nodes = _AskNodes(app, Running(journal, limits, timeout_s), today, new_id)
    graph = wiring(AskState, AskInput)
    graph.add_node("plan", nodes.plan)
    graph.add_node("run", nodes.run)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", _decide_plan_edge)
    graph.add_edge("run", END)
    return graph.compile(name="toolplan")


def toolplan_tool(
    node: AskGraph, *, name: str = "toolplan", description: str = _TOOL_DESCRIPTION
) -> BaseTool:
    """Return what `toolplan_node` gave as a tool of LangChain, for agents that call tools.

    Called inside of a graph with a checkpointer it interrupts for approval, as the node does;
    elsewhere plans with effects are not run, and the tool says so.
    """

    async def ask(question: str) -> str:
        """Answer the question."""
        asked = {"messages": [HumanMessage(question)]}
        given = await cast("_Asks", node).ainvoke(asked)
        if _INTERRUPT in given:
            return "Nothing was run: the plan changes something, and nobody is here to approve it."
        return cast("Outcome", given["toolplan"])["text"]

    return StructuredTool.from_function(coroutine=ask, name=name, description=description)


class _Asks(Protocol):
    """The one way in which the tool calls the node."""

    async def ainvoke(self, given: Mapping[str, object], /) -> Mapping[str, object]: ...


class _AskNodes:
    def __init__(
        self,
        app: App,
        running: Running,
        today: Callable[[], date],
        new_id: Callable[[], str],
    ) -> None:
        self._app = app
        self._running = running
        self._today = today
        self._new_id = new_id

    async def plan(self, state: AskState) -> dict[str, object]:
        question = _question(state)
        asked = await self._app.plan(str(question.text), today=self._today())
        plan = asked.plan
        if plan is None or not isinstance(asked.proposal, Draft):
            return self._ended(*_unplanned(asked), None)
        return {"draft": to_text(plan)}

    async def run(self, state: AskState) -> dict[str, object]:
        tools, app = toolbox(self._app.tools), self._app
        compiled = compile_plan(
            state.get("draft", ""), tools=tools, limits=app.limits, policy=app.policy
        )
        plan = compiled.plan
        if plan is None:  # the tools have changed since the plan was made
            return self._ended("no-plan", _problems(compiled.diagnostics), None)
        question = _question(state)
        approval = ask_approval(plan, tools, {"question": str(question.text)})
        if isinstance(approval, Refused):
            text = f"The plan was refused; nothing was run. {approval.reason}".strip()
            return self._ended("refused", text, plan)
        name = run_name(str(question.id), plan.digest)
        try:
            ended = await run_once(plan, tools, approval, name, self._running)
        except CannotRun as error:
            return self._ended("failed", f"Nothing was run. {error}", plan)
        schemas = output_schemas(plan.plan, tools)
        text = answer(plan, ended, schemas=schemas, insights=app.insights).text
        kind: Kind = "answered" if ended.succeeded else "failed"
        return self._ended(kind, text, plan, to_json(ended))

    def _ended(
        self, kind: Kind, text: str, plan: ExecutionPlan | None, ran: Json = None
    ) -> dict[str, object]:
        shown: Json = None if plan is None else dump(plan.plan)
        outcome = Outcome(kind=kind, text=text, plan=storable(shown), run=storable(ran))
        return {"messages": [AIMessage(text, id=self._new_id())], "toolplan": outcome, "draft": ""}


def _decide_plan_edge(state: AskState) -> Literal["run", "__end__"]:
    return "run" if state.get("draft") else "__end__"


def _question(state: AskState) -> HumanMessage:
    people = (each for each in reversed(state["messages"]) if isinstance(each, HumanMessage))
    found = next(people, None)
    if found is None:
        raise ValueError("There is no message of a person to answer.")
    return found


def _unplanned(asked: AskResult) -> tuple[Kind, str]:
    match asked.proposal:
        case Clarification(question=question, options=options):
            return "clarification", "\n".join([question, *(f"- {each}" for each in options)])
        case Refusal(reason=reason):
            return "refusal", reason
        case Draft():
            found = () if asked.compiled is None else asked.compiled.diagnostics
            return "no-plan", _problems(found)


def _problems(diagnostics: Sequence[Diagnostic]) -> str:
    lines = [f"- {each.message}" for each in diagnostics if each.blocks]
    return "\n".join(["No plan passed its check.", *lines])
