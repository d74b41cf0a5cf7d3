"""The questions of the seeds' documents, asked of the planner without a model."""

import json
from datetime import date
from functools import cache

import pytest

from tests.seeds.seeds import Asked, table
from toolplan import Toolbox, compile_plan
from toolplan.planners import Clarification, Draft, Question
from toolplan_demo import demo_tools
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool

DAYS = {"000": "2025-10-12", "003": "2025-10-11"}
CASES = [(name, each) for name in DAYS for each in table()[name].get("questions", [])]
PLANNER = OfflinePlanner()


@cache
def tools(day: str) -> Toolbox:
    found = demo_tools(date.fromisoformat(day), rows=50)
    return found if "sql" in found else found.with_tools(sql_tool())


@pytest.mark.parametrize(("name", "asked"), CASES, ids=[f"{n} {a['text']}" for n, a in CASES])
def test_each_question_has_its_plan_or_is_asked_back(name: str, asked: Asked) -> None:
    """F000-14, F000-15, F000-29 to F000-37, F000-41, F003-23 to F003-26."""
    day = DAYS[name]
    proposal = PLANNER.plan(Question(asked["text"], day), tools(day))
    if "plan" not in asked:
        assert isinstance(proposal, Clarification)
        assert [*proposal.unexplained] == asked.get("asked")
        return
    assert isinstance(proposal, Draft), proposal
    assert compile_plan(proposal.text, tools=tools(day)).plan is not None
    steps = json.loads(proposal.text)["steps"]
    assert [[step["tool"], step.get("args", {})] for step in steps] == asked["plan"]
