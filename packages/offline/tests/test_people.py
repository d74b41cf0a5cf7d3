"""Questions about people and what they are to things: roles, names, who did what."""

import json
from typing import Any, Final

import pytest

from toolplan.planners import Clarification, Draft, Question
from toolplan.schema.tool import Toolbox
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool

TEXT: Final = {"type": "string"}
DATE: Final = {"type": "string", "format": "date"}
PERSON: Final = {
    "id": {"type": "integer", "x-ref": "person.id"},
    "name": {"type": "string", "x-kind": "person"},
    "town": {"type": "string", "x-kind": "place", "x-cue": ["in"], "x-gazetteer": ["Trier"]},
    "hired_on": DATE,
}
WALK: Final = {
    "id": {"type": "integer", "x-ref": "walk.id"},
    "title": {"type": "string", "x-kind": "name"},
    "leader_id": {"type": "integer", "x-ref": "person.id", "x-synonyms": ["leader", "led by"]},
    "state": {"type": "string", "enum": ["open", "held"]},
    "day": DATE,
}
HUT: Final = {
    "id": {"type": "integer", "x-ref": "hut.id"},
    "name": {"type": "string", "x-kind": "name"},
    "place": {"type": "string", "x-kind": "place", "x-cue": ["in"]},
    "keeper_id": {"type": ["integer", "null"], "x-ref": "person.id"},
    "rental_fee_eur": {"type": "number", "x-unit": "EUR"},
}
RENTAL: Final = {
    "id": {"type": "integer"},
    "hut_id": {"type": "integer", "x-ref": "hut.id"},
    "rating": {"type": ["integer", "null"]},
    "remark": {"type": ["string", "null"]},
    "paid_on": {"type": ["string", "null"], "format": "date"},
    "day": DATE,
}


def listed(thing: str, fields: dict[str, Any], *filters: str) -> dict[str, Any]:
    inputs = {name: fields[name] for name in filters}
    for name in (name for name, field in fields.items() if field is DATE):
        inputs[f"{name}_from"] = {**DATE, "x-role": "range.start", "x-field": name}
        inputs[f"{name}_to"] = {**DATE, "x-role": "range.end", "x-field": name}
    rows = {"type": "object", "properties": fields, "x-entity": thing}
    return {
        "name": f"{thing}s_list",
        "input_schema": {"type": "object", "properties": inputs},
        "output_schema": {"type": "array", "items": rows},
        "annotations": {"readOnlyHint": True},
    }


TOOLS: Final = Toolbox.from_json(
    [
        listed("person", PERSON, "id", "name", "town"),
        listed("walk", WALK, "title", "leader_id", "state"),
        listed("hut", HUT, "name", "place", "keeper_id"),
        listed("rental", RENTAL, "hut_id"),
    ]
).with_tools(sql_tool())


def planned(question: str) -> Draft | Clarification:
    proposal = OfflinePlanner().plan(Question(question, today="2025-10-12"), TOOLS)
    assert isinstance(proposal, Draft | Clarification)
    return proposal


def calls(question: str) -> list[tuple[str, Any]]:
    proposal = planned(question)
    assert isinstance(proposal, Draft), (question, proposal)
    steps = json.loads(proposal.text)["steps"]
    return [(s["tool"], s.get("args", {}).get("sql") or s.get("args", {})) for s in steps]


BY_PERSON: Final = {"leader_id": "${persons[*].id}"}


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("walks led by Anna Keller", {"name": "Anna Keller"}),
        ("walks with leader Anna Keller", {"name": "Anna Keller"}),
        ("walks of Anna Keller", {"name": "Anna Keller"}),
        ("Anna Keller's walks", {"name": "Anna Keller"}),
        ("walks led by person Anna Keller", {"name": "Anna Keller"}),
        ("walks with leaders who live in Trier", {"town": "Trier"}),
        ("walks whose leader lives in Trier", {"town": "Trier"}),
        ("walks led by persons in Trier", {"town": "Trier"}),
    ],
)
def test_a_word_of_a_reference_is_the_role_of_what_it_names(question: str, who: Any) -> None:
    first, last = calls(question)
    assert first == ("persons_list", who)
    assert last[0] == "walks_list"
    assert "leader_id" in json.dumps(last[1]) or last[1] == {}


@pytest.mark.parametrize(
    ("question", "tool", "text"),
    [
        ("number of walks per leader", "sql", "GROUP BY 1"),
        ("huts whose keeper is in Trier", "huts_list", "keeper_id"),
        ("keepers of huts called Alpblick", "sql", "id IN (SELECT keeper_id FROM huts"),
        ("the keeper of the hut called Alpblick", "sql", "SELECT keeper_id FROM huts"),
    ],
)
def test_roles_group_and_are_asked_for(question: str, tool: str, text: str) -> None:
    found = calls(question)[-1]
    assert found[0] == tool
    assert text in json.dumps(found[1])


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("huts called Alpblick", ("huts_list", {"name": "Alpblick"})),
        ("the hut named Alpblick", ("huts_list", {"name": "Alpblick"})),
        ('do you have a walk named "Roter Hang"?', ("walks_list", {"title": "Roter Hang"})),
        ("person Anna Keller", ("persons_list", {"name": "Anna Keller"})),
        (
            "who was hired in 2024?",
            ("persons_list", {"hired_on_from": "2024-01-01", "hired_on_to": "2024-12-31"}),
        ),
        ("who lives in Trier?", ("persons_list", {"town": "Trier"})),
        (
            "walks in August and September 2025",
            ("walks_list", {"day_from": "2025-08-01", "day_to": "2025-09-30"}),
        ),
    ],
)
def test_names_people_and_periods_that_touch(question: str, call: tuple[str, Any]) -> None:
    assert calls(question) == [call]


@pytest.mark.parametrize(
    "question",
    [
        "hut Trier",  # a name, or where it is?
        "hut Alpblick",
        "who has hut 7?",  # no person has a hut; a keeper has
        "who leads hut 7?",
        "persons of Anna Keller",
        "which walks does Anna Keller lead?",  # those that are still open, too?
        "persons in 2024",  # the time of something else, or hired on?
        "walks in August and October 2025",  # September is not said
    ],
)
def test_what_is_not_sure_is_asked(question: str) -> None:
    assert isinstance(planned(question), Clarification)


def test_a_participle_of_a_deed_is_tied_to_its_records() -> None:
    found = calls("huts not rented in September")
    assert found[0] == ("rentals_list", {"day_from": "2025-09-01", "day_to": "2025-09-30"})
    assert "NOT IN (SELECT hut_id FROM rentals" in found[-1][1]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("sort the huts by rental fee", "ORDER BY rental_fee_eur ASC"),
        ("sort the huts by rental fee, highest first", "ORDER BY rental_fee_eur DESC"),
        ("hut count by place", "count(*)"),
        ("which hut has the highest rental fee?", "<= 1"),
        ("which walk had the latest day", ""),
    ],
)
def test_lists_that_are_sorted_and_counted(question: str, text: str) -> None:
    proposal = planned(question)
    assert isinstance(proposal, Draft) == bool(text), question
    if text:
        assert text in calls(question)[-1][1]


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("huts without a keeper", "keeper_id IS NULL"),
        ("huts that have no keeper", "keeper_id IS NULL"),
        ("rentals with no rating", "rating IS NULL"),
        ("rentals never paid", "paid_on IS NULL"),
        ("rentals never paid last month", "paid_on IS NULL"),
        ("rentals with no remark", "(remark IS NULL OR remark = '')"),
    ],
)
def test_what_can_be_missing_is_a_condition(question: str, condition: str) -> None:
    assert condition in calls(question)[-1][1]


@pytest.mark.parametrize("question", ["walks without a title", "walks without a leader"])
def test_what_cannot_be_missing_is_asked(question: str) -> None:
    assert isinstance(planned(question), Clarification)


@pytest.mark.parametrize(
    "question", ["huts in Bad Reichenhall", "walks in Bad Reichenhall", "Bad Reichenhall walks"]
)
def test_a_name_behind_a_preposition_of_place_is_no_person(question: str) -> None:
    proposal = planned(question)
    assert (
        isinstance(proposal, Clarification) or "persons" not in proposal.text.split("metadata")[0]
    )


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("walks led by Anna Keller, newest first", "ORDER BY day DESC"),
        ("held walks, oldest first", "ORDER BY day ASC"),
        ("rentals newest first", "ORDER BY day DESC"),
    ],
)
def test_lists_are_sorted_as_said(question: str, order: str) -> None:
    assert order in calls(question)[-1][1]


@pytest.mark.parametrize("question", ["rentals per hut, newest first", "5 latest 3 rentals"])
def test_an_order_of_nothing_is_asked(question: str) -> None:
    assert isinstance(planned(question), Clarification)


COURSE: Final = {
    "id": {"type": "integer"},
    "hall": {"type": "string", "enum": ["A", "B"]},
    "next_check_on": DATE,
    "hut_id": {"type": "integer", "x-ref": "hut.id"},
    "price_eur": {"type": "number", "x-unit": "EUR"},
}
SUPPLIED: Final = {**HUT, "supplier": {"type": "string"}}
COURSES: Final = Toolbox.from_json(
    [listed("course", COURSE, "hall", "hut_id"), listed("hut", SUPPLIED, "name", "supplier")]
).with_tools(sql_tool())


def course_calls(question: str) -> list[Any] | str:
    proposal = OfflinePlanner().plan(Question(question, today="2026-11-27"), COURSES)
    if isinstance(proposal, Clarification):
        return proposal.question
    assert isinstance(proposal, Draft)
    return [step.get("args", {}) for step in json.loads(proposal.text)["steps"]]


def test_the_article_is_no_value_of_a_field() -> None:
    assert course_calls("courses in hall A") == [{"hall": "A"}]
    assert "hall" not in json.dumps(course_calls("average price of a course"))
    assert course_calls("a list of courses") == [{}]


def test_what_comes_next_lies_ahead_or_is_asked() -> None:
    assert "2026-12-01 .. 2026-12-31" in course_calls("courses in December")


def test_a_free_name_is_said_of_nothing_further_away() -> None:
    assert isinstance(course_calls("courses by Tandem Outdoor"), str)
    assert course_calls("huts by Tandem Outdoor") == [{"supplier": "Tandem Outdoor"}]
