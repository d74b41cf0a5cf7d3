"""Follow-ups that change more than one place: asked whole with them, or asked about."""

from __future__ import annotations

import json

import pytest

from tests.planners.dialogue.conversation import Talk, calls
from toolplan.planners import Draft
from toolplan.planners.grounded.dialogue import DialoguePlanner


@pytest.mark.parametrize(
    ("first", "then", "order"),
    [
        ("top 3 carriers by shipments in September", "and the bottom 3?", "count(*) ASC) <= 3"),
        ("top 3 carriers in September by weight", "bottom 2", "sum(weight_kg) ASC) <= 2"),
        (
            "the 5 heaviest shipments in September",
            "the 3 lightest",
            "weight_kg ASC NULLS LAST) <= ",
        ),
        ("3 largest facilities", "3 smallest", "capacity_tons ASC NULLS LAST) <= "),
        ("latest 3 inspections", "earliest 3", "date ASC NULLS LAST) <= 3"),
    ],
)
def test_the_other_end_of_an_order_is_another_order(first: str, then: str, order: str) -> None:
    talk = Talk()
    talk.steps(first)
    _, (_, args) = calls(talk.steps(then))
    assert isinstance(args, dict)
    assert order in str(args["sql"])


@pytest.mark.parametrize(
    ("first", "then", "days"),
    [
        ("shipments in March 2025", "and April?", ("2025-04-01", "2025-04-30")),
        ("shipments in Q3 2024", "Q2?", ("2024-04-01", "2024-06-30")),
        ("shipments on 5 May 2024", "6 May?", ("2024-05-06", "2024-05-06")),
        ("shipments in 2024", "in March?", ("2024-03-01", "2024-03-31")),
        ("shipments in September", "and in August?", ("2025-08-01", "2025-08-31")),
    ],
)
def test_the_year_of_the_time_before_holds(first: str, then: str, days: tuple[str, str]) -> None:
    talk = Talk()
    talk.steps(first)
    ((_, args),) = calls(talk.steps(then))
    assert args == {"date_from": days[0], "date_to": days[1]}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("top 3 carriers by shipments in September", "the next 3"),
        ("top 3 carriers by shipments in September", "worst 3"),
        ("how many shipments not to Berlin in September?", "to Hamburg?"),
        ("how many shipments not plastic in September?", "only plastic"),
        ("how many shipments not rejected in September?", "delivered?"),
        ("shipments that weighed more than 3 t", "between 1 and 2 t?"),
        ("contaminants above 100 ppm", "between 10 and 20 ppm?"),
        ("shipments on 3 June 2025", "on the 4th?"),
        ("shipments in September", "on the 5th?"),
        ("shipments in September", "from the 20th"),
        ("shipments in September", "until the 10th"),
        ("shipments since August", "until September"),
        ("rejected shipments in September", "and in August? and in July?"),
        ("shipments from Munich in September", "and to Munich?"),
        ("shipments to Munich in September", "and from Munich?"),
        ("average weight of glass shipments", "for all waste types"),
        ("how many plastic shipments in September?", "for every waste type"),
        ("inspections by Anna Becker in September", "by all inspectors"),
        ("shipments per carrier in September", "total weight"),
        ("number of shipments per carrier", "average weight"),
    ],
)
def test_what_could_change_another_place_too_is_asked_about(first: str, then: str) -> None:
    talk = Talk()
    talk.steps(first)
    talk.asked_back(then)


@pytest.mark.parametrize(
    "then",
    [
        "which carriers?",
        "how many carriers?",
        "how many contaminants?",
        "average weight by carrier",
        "heaviest shipment",
        "rejection rate by carrier",
        "which carrier has the most shipments?",
        "critical contaminants?",
        "how many rejected shipments?",
        "facilities?",
    ],
)
def test_a_question_about_all_is_confirmed_where_some_were_chosen_before(then: str) -> None:
    talk = Talk()
    talk.steps("plastic shipments in September")
    asked = talk.asked_back(then)
    assert asked.options == ("yes", "no")
    before = "plastic shipments in September"
    assert asked.question.startswith(f'This is about all, and not only about "{before}".')
    assert isinstance(talk.say("yes"), Draft)


@pytest.mark.parametrize(
    "then",
    [
        "list facilities",
        "how many facilities are there?",
        "shipments to Berlin last week",
        "facilities in Munich",
        "average weight of all shipments",
        "what is the status of S3?",
    ],
)
def test_other_whole_questions_are_not(then: str) -> None:
    talk = Talk()
    talk.steps("plastic shipments in September")
    talk.steps(then)


def test_more_of_a_kind_is_set_beside_the_first() -> None:
    talk = Talk()
    talk.steps("how many plastic shipments in September?")
    _, (_, args) = calls(talk.steps("plus paper"))
    assert isinstance(args, dict)
    assert "IN ('plastic', 'paper')" in str(args["sql"])


def test_other_groups_stand_instead_of_the_first() -> None:
    talk = Talk()
    talk.steps("shipments per carrier")
    _, (_, args) = calls(talk.steps("per waste type instead"))
    assert isinstance(args, dict)
    assert " GROUP BY waste_type " in str(args["sql"])


def test_figures_of_groups_that_were_not_chosen_are_of_all() -> None:
    talk = Talk()
    talk.steps("shipments per carrier")
    talk.steps("average weight per carrier")


class ReadsContexts:
    """A planner that answers about the things of the turn before, as a model may."""

    async def propose(self, *_: object, **__: object) -> Draft:
        args = {"date_from": "2025-09-01", "date_to": "2025-09-30", "waste_type": "plastic"}
        step = {"id": "shipments", "tool": "shipments_list", "args": args}
        return Draft(json.dumps({"toolplan": 1, "steps": [step]}))


def test_a_planner_that_keeps_what_was_chosen_is_not_asked_about_all() -> None:
    talk = Talk()
    talk.steps("plastic shipments in September")
    talk.planner = DialoguePlanner(ReadsContexts())
    assert isinstance(talk.say("how many carriers?"), Draft)
