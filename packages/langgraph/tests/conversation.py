"""Scripted roles, and a conversation with the graph that can be taken apart."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, Protocol, cast

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolplan import Effects, Journal, Toolbox, ToolError
from toolplan.plan.path import Json
from toolplan.testing import Gives, Raises, ScriptedModel, ScriptedTools
from toolplan.testing.tools import ModelReply
from toolplan_langgraph import Configuration, Experts, RoleModels, State, build_graph

NOW: Final = datetime(2025, 10, 12, 8, 0, tzinfo=UTC)


def plan(*tasks: tuple[str, str], decision: str = "replace", **more: Json) -> str:
    listed: list[Json] = [{"expert": expert, "task": task} for expert, task in tasks]
    reply: dict[str, Json] = {"decision": decision, "plan": listed, "next_task": 0, **more}
    return json.dumps(reply)


def clarify(question: str) -> str:
    return plan(clarification=question)


def calls(*made: tuple[str, Mapping[str, Json]]) -> str:
    listed: list[Json] = [{"name": name, "args": dict(args)} for name, args in made]
    return json.dumps({"kind": "tool_calls", "text": "", "tool_calls": listed})


def says(text: str, kind: str = "answer") -> str:
    return json.dumps({"kind": kind, "text": text, "tool_calls": []})


def done(is_completed: bool = True, why: str = "", confidence: float = 0.9) -> str:
    said = {"is_completed": is_completed, "explanation": why, "confidence": confidence}
    return json.dumps(said)


TWO: Final = (("waste", "Find the shipments."), ("notes", "Note how many there are."))


class Graph(Protocol):
    """What of a compiled graph is used here, typed in full."""

    async def ainvoke(self, given: object, config: Mapping[str, Any], /) -> dict[str, Any]: ...

    def astream(
        self, given: object, config: Mapping[str, Any], *, stream_mode: Sequence[str]
    ) -> AsyncIterator[tuple[str, Any]]: ...

    def get_graph(self) -> Any: ...


class Conversation:
    """A graph with scripted roles, on one thread.

    Attributes:
        planner: likewise `expert`, `assessor`, `responder`: what each role is asked.
        waste: likewise `notes`: the tools of the usual experts.
        visited: the nodes that were left so far, in order.
        written: what was written to the stream of custom values.
        interrupts: what the graph has shown to a person, in order.
    """

    def __init__(
        self,
        known: Experts | Mapping[str, Toolbox] | None = None,
        *,
        planner: Sequence[ModelReply] = (plan(TWO[0]),),
        expert: Sequence[ModelReply] = (says("Done."),),
        assessor: Sequence[ModelReply] = (done(),),
        responder: Sequence[ModelReply] = ("That is all.",),
        configuration: Configuration | None = None,
        checkpointer: BaseCheckpointSaver[str] | None = None,
        journal: Journal | None = None,
        thread: str = "t1",
    ) -> None:
        usual, self.waste, self.notes = experts()
        self.planner = ScriptedModel(planner)
        self.expert = ScriptedModel(expert)
        self.assessor = ScriptedModel(assessor)
        self.responder = ScriptedModel(responder)
        ids = count(1)
        models = RoleModels(self.planner, self.expert, self.assessor, self.responder)
        compiled = build_graph(
            configuration or Configuration(),
            usual if known is None else known,
            models,
            checkpointer=InMemorySaver() if checkpointer is None else checkpointer,
            journal=journal,
            clock=lambda: NOW,
            new_id=lambda: f"{thread}-{os.getpid()}-m{next(ids)}",
        )
        self.graph = cast("Graph", compiled)
        self.config = {"configurable": {"thread_id": thread}}
        self.visited: list[str] = []
        self.written: list[dict[str, Any]] = []
        self.interrupts: list[dict[str, Any]] = []

    async def says(self, text: str) -> State:
        """Say something new."""
        return await self.go_on({"messages": [HumanMessage(text)]})

    async def resumes(self, word: object) -> State:
        """Answer what the graph has asked."""
        return await self.go_on(Command(resume=word))

    async def go_on(self, given: object) -> State:
        """Let the graph run until it ends or interrupts, and give its state."""
        state: dict[str, Any] = {}
        modes = ["updates", "values", "custom"]
        async for mode, part in self.graph.astream(given, self.config, stream_mode=modes):
            match mode:
                case "values":
                    state = part
                case "custom":
                    self.written.append(part["toolplan"])
                case _:
                    self._note(part)
        return cast("State", state)

    def _note(self, update: dict[str, Any]) -> None:
        for node, part in update.items():
            if node == "__interrupt__":
                self.interrupts += [each.value for each in part]
            else:
                self.visited.append(node)


def answers(state: State) -> list[str]:
    """The texts of the messages that hold results of tools."""
    return [str(each.text) for each in state["messages"] if isinstance(each, ToolMessage)]


def last(state: State) -> AnyMessage:
    return state["messages"][-1]


def stop_reason(state: State) -> str | None:
    """The limit that ended the graph, if one did."""
    stopped = state.get("stopped")
    return None if stopped is None else stopped["reason"]


def asked(model: ScriptedModel, at: int = -1) -> str:
    """All that a model was shown with one request."""
    return "\n".join(message.text for message in model.requests[at].messages)


def talk(conversation: Conversation, text: str) -> State:
    return asyncio.run(conversation.says(text))


def experts() -> tuple[dict[str, Toolbox], ScriptedTools, ScriptedTools]:
    waste, notes = ScriptedTools(), ScriptedTools()
    waste.add("shipments", Gives({"data": [{"id": "s1"}, {"id": "s2"}]}))
    waste.add("facilities", Gives({"data": []}))
    waste.add("broken", Raises(ToolError("the truck is gone")))
    notes.add("add", Gives({"count": 1}), effects=Effects.WRITE)
    return {"waste": waste.toolbox, "notes": notes.toolbox}, waste, notes
