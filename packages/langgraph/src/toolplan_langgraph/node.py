"""Plan, check and run as one node, or as one tool, of another graph.

The node is a graph with two nodes: the plan is stored before the user is asked to approve it, so
that exactly the approved plan runs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from msgspec import Struct

from toolplan.app.app import App
from toolplan.compiler import to_text
from toolplan.engine import CannotRun
from toolplan.events import Run, to_json
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.policy.approval import Approval
from toolplan.policy.consent import needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan_langgraph._runs import is_known, reporter, run_name
from toolplan_langgraph.approval import Refused, ask_approval, ask_values, command, storable

Kind: TypeAlias = Literal[
    "answered", "failed", "clarification", "refusal", "refused", "no-plan", "waiting"
]

_INTERRUPT: Final = "__interrupt__"
_NO_JOURNAL: Final = (
    "Nothing was run: values of tools reach calls with effects, which are approved with these"
    " values, and the app has no journal to keep the run in meanwhile."
)
_WAITS: Final = "Calls wait for a person, who decides in a terminal:"
_TOOL_DESCRIPTION: Final = (
    "Answers a question with a plan of tool calls that is checked before anything runs."
)


class Outcome(TypedDict):
    """The outcome of a question, as plain JSON.

    `kind` is `answered`, `failed` (the run failed), `clarification` (the planner asks), `refusal`
    (no plan is possible), `refused` (the user refused the plan), `no-plan` (no draft passed its
    check) or `waiting` (the user left calls waiting with their values). `plan` is canonical, `run`
    is the wire form; each may be None. Integers of more than 64 bits are text in both.
    """

    kind: Kind
    text: str
    plan: Json
    run: Json


class AskInput(TypedDict):
    """The input of the node: its question is the last message of the user."""

    messages: Annotated[list[AnyMessage], add_messages]


class AskState(AskInput):
    """The output of the node: the answer as a message, and the outcome in `toolplan`."""

    toolplan: NotRequired[Outcome]
    draft: NotRequired[str]


AskGraph: TypeAlias = CompiledStateGraph[AskState, None, AskInput, AskState]


def toolplan_node(
    app: App,
    *,
    today: Callable[[], date] | None = None,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    approve: Literal["plan", "values"] = "plan",
) -> AskGraph:
    """Return a node for `graph.add_node(name, …)`, or a graph to be called by itself.

    It reads `messages` of the surrounding state and adds its answer to them; if that state has a
    key `toolplan`, it receives the outcome. Events go to the stream of custom values. A plan with
    effects interrupts and shows its effects; see `approved` and `refused`. Where values of tools
    reach these, read-only calls run first, as with `approve="values"`.

    Args:
        app: plans and runs, from `toolplan.open`; with its journal no call with effects is repeated
            after a crash.
        today: returns the date for words like "last week"; by default the app's own.
        new_id: returns the ids of messages.
        approve: `values`: read-only calls run, then the node interrupts with each call with
            effects and its values; see `allowed` and `denied`. This needs the app's journal.

    Raises:
        ToolplanError: the app has no journal, where calls are approved with their values.
    """
    if approve == "values":
        app.needed_journal()
    nodes = _AskNodes(app, today, new_id, by_values=approve == "values")
    builder: Any = StateGraph
    graph = builder(AskState, input_schema=AskInput)
    graph.add_node("plan", nodes.plan, destinations=("run", END))
    graph.add_node("run", nodes.run)
    graph.add_edge(START, "plan")
    graph.add_edge("run", END)
    return graph.compile(name="toolplan")


def toolplan_tool(
    node: AskGraph, *, name: str = "toolplan", description: str = _TOOL_DESCRIPTION
) -> BaseTool:
    """Return a `toolplan_node` as a tool of LangChain, for agents that call tools.

    Inside a graph with a checkpointer it interrupts for approval, as the node does; elsewhere it
    does not run plans with effects, and its result says so.
    """
    asked: Any = node

    async def ask(question: str) -> str:
        """Answer the question."""
        state = await asked.ainvoke({"messages": [HumanMessage(question)]})
        for each in state.get(_INTERRUPT, ()):
            if "help" in each.value:
                return f"{_WAITS} {each.value['help']}"
            return "Nothing was run: the plan has effects, and it cannot be approved here."
        return state["toolplan"]["text"]

    return StructuredTool.from_function(coroutine=ask, name=name, description=description)


class _AskNodes(Struct):
    app: App
    today: Callable[[], date] | None
    new_id: Callable[[], str]
    by_values: bool

    async def plan(self, state: AskState) -> Command[str]:
        today = None if self.today is None else self.today()
        asked = await self.app.plan(str(_question(state).text), today=today)
        if asked.plan is not None and isinstance(asked.proposal, Draft):
            return Command(goto="run", update={"draft": to_text(asked.plan)})
        match asked.proposal:
            case Clarification(question=question, options=options):
                text = "\n".join([question, *(f"- {each}" for each in options)])
                update = self._ended("clarification", text, None)
            case Refusal(reason=reason):
                update = self._ended("refusal", reason, None)
            case Draft():
                found = () if asked.compiled is None else asked.compiled.diagnostics
                update = self._ended("no-plan", _problems(found), None)
        return Command(goto=END, update=update)

    async def run(self, state: AskState) -> dict[str, object]:
        app, question = self.app, _question(state)
        checked = app.check(state.get("draft", ""))
        plan = checked.plan
        if plan is None:  # the tools have changed since the plan was made
            return self._ended("no-plan", _problems(checked.diagnostics), None)
        approval: Approval | Literal["values"] | None = "values"
        if not plan.effects or not (self.by_values or needs_values(plan)):
            given = ask_approval(plan, app.tools, {"question": str(question.text)})
            if isinstance(given, Refused):
                text = f"The plan was refused; nothing was run. {given.reason}".strip()
                return self._ended("refused", text, plan)
            approval = given
        elif app.journal is None:
            return self._ended("failed", _NO_JOURNAL, plan)
        try:
            return await self._run(plan, run_name(str(question.id), plan.digest), approval)
        except CannotRun as error:
            return self._ended("failed", f"Nothing more was run. {error}", plan)

    async def _run(
        self, plan: ExecutionPlan, name: str, approval: Approval | Literal["values"] | None
    ) -> dict[str, object]:
        """Run reading and approved calls, and each other call once its values are allowed."""
        app, report = self.app, reporter(name)
        if await is_known(app.journal, name):  # this node was left for a question, or died
            ended = await app.resume(name, approve=approval, on_event=report)
        else:
            ended = await app.run(plan, run_id=name, approve=approval, on_event=report)
        while approval == "values" and ended.effects:
            allow, deny, reason = ask_values(ended)
            if not allow and not deny:
                text = f"{_WAITS} {command(name, ended.effects)}"
                return self._ended("waiting", text, plan, ended)
            ended = await app.resume(
                name, allow=allow, deny=deny, reason=reason, approve="values", on_event=report
            )
        return self._ended("answered" if ended.succeeded else "failed", str(ended), plan, ended)

    def _ended(
        self, kind: Kind, text: str, plan: ExecutionPlan | None, run: Run | None = None
    ) -> dict[str, object]:
        shown: Json = None if plan is None else dump(plan.plan)
        ran: Json = None if run is None else to_json(run)
        outcome = Outcome(kind=kind, text=text, plan=storable(shown), run=storable(ran))
        return {"messages": [AIMessage(text, id=self.new_id())], "toolplan": outcome, "draft": ""}


def _question(state: AskState) -> HumanMessage:
    people = (each for each in reversed(state["messages"]) if isinstance(each, HumanMessage))
    found = next(people, None)
    if found is None:
        raise ValueError("There is no message of a user to answer.")
    return found


def _problems(diagnostics: Sequence[Diagnostic]) -> str:
    lines = [f"- {each.message}" for each in diagnostics if each.blocks]
    return "\n".join(["No plan passed its check.", *lines])
