"""What the graph knows between two nodes: messages and plain JSON, for any checkpointer.

A checkpointer that reads classes of ours would have to be told of each of them; typed dictionaries
are read back by all, in whatever process.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

Decision: TypeAlias = Literal["continue", "replace"]
Choice: TypeAlias = Literal["tool_calls", "answer", "ask_human", "idk"]
StopReason: TypeAlias = Literal["attempts", "replans", "rounds", "reply"]


class Task(TypedDict):
    """What one expert is to do."""

    expert: str
    task: str


class PlannerResult(TypedDict):
    """The plan as it stands: `next_task` is the index of the current task.

    `clarification` is what the planner asks before there is a plan to work on; None otherwise.
    """

    decision: Decision
    plan: list[Task]
    next_task: int
    clarification: str | None


class Stopped(TypedDict):
    """Why the graph ended before the plan did: which bound was reached, and what that means."""

    reason: StopReason
    message: str


class Progress(TypedDict):
    """How far the work is, since a person last said something.

    `turn` is the id of that person's message; `began` counts the messages before the current task;
    `attempts`, `replans` and `rounds` are what the bounds of those names count. `assessment` is
    what the last try lacked, and `trouble` why the planner is asked again; empty where there is
    nothing to tell. `chosen` is what the expert has chosen last.
    """

    turn: str
    began: int
    attempts: int
    replans: int
    rounds: int
    assessment: str
    trouble: str
    chosen: Choice


class InputState(TypedDict):
    """What the graph is given: messages, each added to those before it."""

    messages: Annotated[list[AnyMessage], add_messages]


class State(InputState):
    """What the graph knows."""

    planner_result: NotRequired[PlannerResult | None]
    task_completed: NotRequired[bool]
    stopped: NotRequired[Stopped | None]
    progress: NotRequired[Progress]


FRESH: Progress = {
    "turn": "",
    "began": 0,
    "attempts": 0,
    "replans": 0,
    "rounds": 0,
    "assessment": "",
    "trouble": "",
    "chosen": "answer",
}


def progress_of(state: State) -> Progress:
    """Return how far the work is."""
    return state.get("progress", FRESH)


def current_task(state: State) -> Task | None:
    """Return the task that is worked on, None where there is none."""
    result = state.get("planner_result")
    if result is None or not 0 <= result["next_task"] < len(result["plan"]):
        return None
    return result["plan"][result["next_task"]]
