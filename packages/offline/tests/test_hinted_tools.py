"""Questions over tools with hints: degrees of adjectives, years as numbers, codes, *still*."""

import json
from typing import Any, Final

import pytest

from toolplan.planners import Clarification, Draft, Question
from toolplan.schema.tool import Toolbox
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool


def listed(name: str, thing: str, fields: dict[str, Any], arguments: list[str]) -> dict[str, Any]:
    rows = {"type": "object", "properties": fields, "x-entity": thing}
    output = {"type": "object", "properties": {"data": {"type": "array", "items": rows}}}
    inputs = {argument: fields[argument] for argument in arguments}
    return {
        "name": name,
        "input_schema": {"type": "object", "properties": inputs},
        "output_schema": output,
        "annotations": {"readOnlyHint": True},
    }


PICTURES: Final = listed(
    "pictures_list",
    "picture",
    {
        "id": {"type": "integer"},
        "code": {"type": "string"},
        "style": {"type": "string", "enum": ["cubist", "baroque"]},
        "state": {"type": "string", "enum": ["on_show", "in_store"]},
        "made": {"type": "integer", "x-synonyms": ["year"]},
        "bought_on": {"type": "string", "format": "date", "x-synonyms": ["bought"]},
        "width_cm": {"type": "number", "x-unit": "cm", "x-synonyms": ["width", "wide"]},
        "heat_c": {"type": "number", "x-unit": "°C", "x-synonyms": ["warm", "hot"]},
    },
    ["code", "style", "state"],
)
TOOLS: Final = Toolbox.from_json([PICTURES]).with_tools(sql_tool())


def planned(question: str) -> Draft | Clarification:
    proposal = OfflinePlanner().plan(Question(question, today="2025-10-12"), TOOLS)
    assert isinstance(proposal, Draft | Clarification)
    return proposal


def asked(question: str) -> str:
    proposal = planned(question)
    assert isinstance(proposal, Clarification), question
    return proposal.question


def last(question: str) -> dict[str, Any]:
    proposal = planned(question)
    assert isinstance(proposal, Draft), question
    args: dict[str, Any] = json.loads(proposal.text)["steps"][-1].get("args", {})
    return args


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("pictures wider than 80 cm", "width_cm > 80"),
        ("the widest picture", "ORDER BY width_cm DESC"),
        ("the three widest pictures", "<= 3"),
        ("pictures warmer than 20 degrees", "heat_c > 20"),
        ("which cubist pictures are hotter than 20 °C?", "heat_c > 20"),
        ("average width by made", "GROUP BY 1"),
    ],
)
def test_degrees_come_from_the_adjectives_of_hints(question: str, sql: str) -> None:
    assert sql in last(question)["sql"]


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("pictures with code T07", {"code": "T07"}),
        ("baroque pictures with code T07", {"code": "T07", "style": "baroque"}),
        ("pictures on show with baroque", {"style": "baroque", "state": "on_show"}),
        ("which pictures are still in store?", {"state": "in_store"}),
        ("pictures that are still on show", {"state": "on_show"}),
        ("pictures still in store", {"state": "in_store"}),
    ],
)
def test_conditions_behind_with_and_still(question: str, args: dict[str, Any]) -> None:
    assert last(question) == args


@pytest.mark.parametrize(
    "question",
    [
        "pictures from 1921",
        "pictures from last year",
        "pictures before 1921",
        "pictures since 1921",
        "pictures until 1921",
        "pictures after 1921",
        "pictures from 1921 to 1930",
        "baroque pictures between 1921 and 1930",
    ],
)
def test_a_year_that_is_also_a_number_of_the_thing_is_asked(question: str) -> None:
    assert "Is the made meant, or bought on? Please say which." in asked(question)


def test_a_year_that_is_a_number_can_be_said() -> None:
    assert "WHERE made = 1921" in last("pictures with made 1921")["sql"]


def test_groups_by_a_year_may_be_those_of_a_number_or_of_a_date() -> None:
    assert "per made of the picture; or: the number of pictures per year" in asked(
        "pictures by year"
    )


def test_a_verb_says_which_year_is_meant() -> None:
    assert "bought_on >= '2021-01-01'" in last("pictures bought in 2021")["sql"]


@pytest.mark.parametrize(
    "question",
    [
        "still pictures",
        "pictures we still have",
        "still baroque",
        "show still pictures",
        "list still baroque pictures",
        "are still pictures on show?",
        "which are still pictures?",
        "which pictures are still?",
        "how many still pictures",
    ],
)
def test_still_is_not_skipped_where_it_may_mean_something(question: str) -> None:
    assert asked(question)
