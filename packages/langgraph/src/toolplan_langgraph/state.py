"""The state of the graph: messages and plain JSON, which every checkpointer can store and load."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

Decision: TypeAlias = Literal["continue", "replace"]
StopReason: TypeAlias = Literal["attempts", "replans", "rounds", "reply", "model"]


class Task(TypedDict):
    """A task for one expert."""

    expert: str
    task: str


class PlannerResult(TypedDict):
    """The current plan; `next_task` is the index of the current task.

    `clarification` is the planner's question to the user, or None.
    """

    decision: Decision
    plan: list[Task]
    next_task: int
    clarification: str | None


class Stopped(TypedDict):
    """Why the graph ended before the plan did: the limit that was reached, and a message."""

    reason: StopReason
    message: str


class Stop(Exception):
    """A node has reached a limit; `update` is its change of the state all the same."""

    def __init__(
        self, reason: StopReason, message: str, update: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        super().__init__(message)
        self.stopped = Stopped(reason=reason, message=message)
        self.update = update


class Progress(TypedDict):
    """The progress since the last message of the user.

    `turn` is the id of that message; `began` is the number of messages before the current task;
    `attempts`, `replans` and `rounds` count towards the limits with these names. `assessment` has
    the gaps of the last attempt, and `trouble` why the planner is asked again; they may be empty.
    """

    turn: str
    began: int
    attempts: int
    replans: int
    rounds: int
    assessment: str
    trouble: str


class InputState(TypedDict):
    """The input of the graph: messages, which are added to the earlier ones."""

    messages: Annotated[list[AnyMessage], add_messages]


class State(InputState):
    """The state of the graph."""

    planner_result: NotRequired[PlannerResult | None]
    task_completed: NotRequired[bool]
    stopped: NotRequired[Stopped | None]
    progress: NotRequired[Progress]


FRESH = Progress(turn="", began=0, attempts=0, replans=0, rounds=0, assessment="", trouble="")


def current_task(state: State) -> Task:
    """Return the current task.

    Raises:
        AssertionError: there is none.
    """
    result = state.get("planner_result")
    if result is None or not 0 <= result["next_task"] < len(result["plan"]):
        raise AssertionError("This node runs only if there is a task.")
    return result["plan"][result["next_task"]]
