"""How the tests ask the planner, and the questions with their plans that are kept as data."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import TypedDict

from toolplan.demo import demo_tools
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, GroundedPlanner, Proposal, Question, Refusal
from toolplan.sources.sql import sql_tool
from toolplan.tools import Toolbox

TODAY = "2025-10-12"
QUESTIONS = Path(__file__).parent / "questions"


class Planned(TypedDict):
    """A question with the steps of its plan."""

    question: str
    steps: list[dict[str, Json]]


class Unplanned(TypedDict):
    """A question that must not be planned: `unexplained` are words that must be named."""

    question: str
    kind: str
    unexplained: list[str]


@cache
def demo() -> Toolbox:
    """Return the demo's tools, and the one that computes."""
    tools = demo_tools(date.fromisoformat(TODAY), rows=50)
    return tools if "sql" in tools else tools.with_tools(sql_tool())


@cache
def demo_without_sql() -> Toolbox:
    """Return the demo's tools without the one that computes."""
    return Toolbox(tool for tool in demo().values() if tool.name != "sql")


_PLANNER = GroundedPlanner()


def propose(question: str, *, tools: Toolbox | None = None, today: str = TODAY) -> Proposal:
    """Ask the planner."""
    return _PLANNER.plan(Question(question, today), tools or demo())


def document(question: str, *, tools: Toolbox | None = None, today: str = TODAY) -> dict[str, Json]:
    """Return the canonical JSON of the draft for `question`; fail where there is none."""
    proposal = propose(question, tools=tools, today=today)
    assert isinstance(proposal, Draft), (question, proposal)
    assert proposal.dialect == "toolplan"
    return json.loads(proposal.text)


def steps(question: str, *, tools: Toolbox | None = None, today: str = TODAY) -> list[Json]:
    """Return the steps of the draft for `question`."""
    found = document(question, tools=tools, today=today)["steps"]
    assert isinstance(found, list)
    return found


def statements(question: str) -> list[str]:
    """Return the SQL statements of the draft for `question`."""
    found: list[str] = []
    for step in steps(question):
        given = step.get("args") if isinstance(step, dict) else None
        sql = given.get("sql") if isinstance(given, dict) else None
        if isinstance(sql, str):
            found.append(sql)
    return found


def arguments(question: str, *, today: str = TODAY) -> list[tuple[Json, Json]]:
    """Return tool and arguments of each step of the draft for `question`."""
    return [
        (step["tool"], step.get("args", {}))
        for step in steps(question, today=today)
        if isinstance(step, dict)
    ]


def kind(proposal: Proposal) -> str:
    """Name what a proposal is."""
    match proposal:
        case Draft():
            return "draft"
        case Clarification():
            return "clarification"
        case Refusal():
            return "refusal"


def planned(name: str) -> list[Planned]:
    """Read the questions of `name` with their plans."""
    return json.loads((QUESTIONS / f"{name}.json").read_text(encoding="utf-8"))


def unplanned(name: str) -> list[Unplanned]:
    """Read the questions of `name` that must not be planned."""
    return json.loads((QUESTIONS / f"{name}.json").read_text(encoding="utf-8"))
