"""Dates that a model writes in the words of the question are resolved by the table of dates."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from toolplan import App, AskResult, Effects, Tool, Toolbox
from toolplan.dates import Weeks, times_in
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan.planners import LLMPlanner
from toolplan.planners.cache import CachedPlanner
from toolplan.planners.llm._plan_schema import plan_schema
from toolplan.schema import Schema
from toolplan.storage.plan_cache import PlanCache
from toolplan.testing.tools import ScriptedModel

TODAY = "2025-10-15"  # a Wednesday
DATE: Json = {"type": "string", "format": "date"}
ROLLING = {"date_from": "2025-10-08", "date_to": "2025-10-15"}


def tool(*dates: str, required: tuple[str, ...] = ()) -> Tool:
    properties: dict[str, Json] = {"city": {"type": "string"}, **dict.fromkeys(dates, DATE)}
    schema: Json = {"type": "object", "properties": properties, "required": [*required]}
    return Tool("trips", "Lists trips.", schema, None, Effects.READ)


RANGE = tool("date_from", "date_to")


def reply(args: Json) -> str:
    return json.dumps({"toolplan": 1, "steps": [{"id": "trips", "tool": "trips", "args": args}]})


def asked(question: str, args: Json, used: Tool = RANGE, weeks: Weeks = "rolling") -> AskResult:
    planner = LLMPlanner(ScriptedModel(reply(args)), weeks=weeks)
    return asyncio.run(App(Toolbox([used]), planner, attempts=1).plan(question, today=TODAY))


def args_of(result: AskResult) -> Json:
    assert result.plan is not None, result.compiled
    steps = dump(result.plan.plan)["steps"]
    return cast("list[dict[str, Json]]", steps)[0]["args"]


@pytest.mark.parametrize(
    ("question", "args", "days"),
    [
        ("Trips last week", {"date_from": "last week", "date_to": "last week"}, ROLLING),
        ("Trips last week", {"date_from": "last week"}, ROLLING),
        ("Trips last week", {"date_to": "Last  Week"}, ROLLING),
        (
            "Trips in September",
            {"date_from": "in September", "date_to": "September"},
            {"date_from": "2025-09-01", "date_to": "2025-09-30"},
        ),
        (
            "Trips yesterday",
            {"date_from": "yesterday"},
            {"date_from": "2025-10-14", "date_to": "2025-10-14"},
        ),
        (
            "Trips since Monday",
            {"date_from": "since Monday", "date_to": "2025-10-14"},
            {"date_from": "2025-10-13", "date_to": "2025-10-14"},
        ),
        ("Trips until May 3", {"date_to": "until May 3"}, {"date_to": "2025-05-03"}),
        (
            "Trips after October 5",
            {"date_from": "after October 5", "city": "Kiel"},
            {"date_from": "2025-10-06", "city": "Kiel"},
        ),
    ],
)
def test_the_words_of_the_question_become_its_days(question: str, args: Json, days: Json) -> None:
    assert args_of(asked(question, args)) == days


def test_the_weeks_are_those_of_the_user_and_a_note_says_what_was_taken() -> None:
    args: Json = {"date_from": "last week", "date_to": "last week"}
    result = asked("Trips last week", args, weeks="calendar")
    assert args_of(result) == {"date_from": "2025-10-06", "date_to": "2025-10-12"}
    assert result.compiled is not None
    first = result.compiled.diagnostics[0]
    assert (first.code, first.fixed) == ("argument-value", True)
    assert first.message == (
        "date_from: “last week” is 2025-10-06 .. 2025-10-12 (Monday to Sunday of the week before"
        " this one)."
    )


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (("start_date", "end_date"), True),
        (("startDate", "endDate"), True),
        (("booked_from", "booked_to", "paid_from", "paid_to"), True),
        (("min_date", "until"), True),
        (("from", "to"), True),
        (("since",), True),
        (("booked_from", "paid_to", "paid_from"), False),
        (("created_after", "created_before"), False),
        (("created_since",), False),
        (("day",), False),
        (("until",), False),
    ],
)
def test_a_range_goes_where_its_sides_are_known(names: tuple[str, ...], *, taken: bool) -> None:
    result = asked("Trips last week", {names[0]: "last week"}, tool(*names))
    if taken:
        given = {names[0]: "2025-10-08", **dict.fromkeys(names[1:2], "2025-10-15")}
        assert args_of(result) == given
        return
    assert result.plan is None
    assert result.compiled is not None
    (problem,) = [each for each in result.compiled.diagnostics if each.blocks]
    assert "“last week” is 2025-10-08 .. 2025-10-15" in problem.message


@pytest.mark.parametrize(
    ("question", "args", "said"),
    [
        ("Trips by Friday", {"date_to": "by Friday"}, "unclear: Until 2025-10-10, or until"),
        ("Trips since Monday", {"date_from": "Monday"}, "Monday"),
        ("Trips last week", {"date_from": "last month"}, "last month"),
        ("Trips until May 3", {"date_from": "until May 3"}, "has no day for 'date_from'"),
        ("Trips not in October", {"date_from": "October"}, "October"),
        ("Trips in Kiel", {"date_from": "07/10/2025"}, "07/10/2025"),
    ],
)
def test_what_is_unclear_or_unsaid_is_an_error(question: str, args: Json, said: str) -> None:
    result = asked(question, args)
    assert result.plan is None
    assert result.compiled is not None
    assert any(said in each.message and each.blocks for each in result.compiled.diagnostics)


def test_a_day_that_is_required_is_put_in_and_one_day_is_one_day() -> None:
    whole = tool("date_from", "date_to", required=("date_from", "date_to"))
    assert args_of(asked("Trips last week", {"date_from": "last week"}, whole)) == ROLLING
    assert args_of(asked("Trips of yesterday", {"day": "yesterday"}, tool("day"))) == {
        "day": "2025-10-14"
    }


def test_only_dates_are_days_and_only_for_who_planned_the_question() -> None:
    assert args_of(asked("Trips last week", {"city": "last week"})) == {"city": "last week"}


@pytest.mark.parametrize("small", [False, True])
def test_the_form_of_a_reply_has_the_words_of_the_question(*, small: bool) -> None:
    model = ScriptedModel(reply({"date_from": "last week"}))
    planner = LLMPlanner(model, small=small)
    asyncio.run(App(Toolbox([RANGE]), planner).plan("Trips last week", today=TODAY))
    form = Schema.load(model.requests[0].schema)

    def fits(day: str) -> bool:
        return form.is_valid(json.loads(reply({"date_from": day})))

    assert fits("last week")
    assert fits("2025-10-08") is not small
    assert not fits("last month")
    other = Schema.load(plan_schema(Toolbox([RANGE]), small=True))
    assert other.is_valid(json.loads(reply({"date_from": "2025-10-08"})))


def test_a_remembered_plan_has_its_words_too(tmp_path: Path) -> None:
    model = ScriptedModel(reply({"date_from": "last week"}))
    for _ in range(2):
        planner = CachedPlanner(LLMPlanner(model), PlanCache(tmp_path / "c"), name="m", version="1")
        found = asyncio.run(App(Toolbox([RANGE]), planner).plan("Trips last week", today=TODAY))
        assert args_of(found) == ROLLING
    assert len(model.requests) == 1


def test_times_are_found_by_their_words() -> None:
    times = times_in("Trips in May or by Friday", date(2025, 10, 15))
    assert (times.clear, [*times.said]) == (["may"], ["may", "by friday"])


def test_words_are_resolved_before_a_step_starts_early() -> None:
    calls: list[Json] = []

    async def call(args: dict[str, Json]) -> Json:
        calls.append(args)
        return []

    app = App(
        Toolbox([replace(RANGE, call=call)]),
        LLMPlanner(ScriptedModel(reply({"date_from": "last week"}))),
    )
    assert asyncio.run(app.ask("Trips last week", today=TODAY, eager=True)).succeeded
    assert calls == [ROLLING]
