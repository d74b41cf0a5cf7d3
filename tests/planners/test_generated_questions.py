"""A share of the generated questions: none is answered wrongly (the rest: the benchmark)."""

from __future__ import annotations

import pytest

from benchmarks.generated_questions.__main__ import Checked, Verdict, check
from benchmarks.generated_questions.domains import DOMAINS
from benchmarks.generated_questions.families import FAMILIES, generate
from tests.planners.planned import arguments, kind, propose, statements
from tests.sizes import share_of


@pytest.mark.parametrize("name", DOMAINS)
def test_no_generated_question_is_answered_wrongly(name: str) -> None:
    domain = DOMAINS[name]
    questions = list(generate(domain, share_of(12)))
    assert len(questions) >= 2 * len(FAMILIES)
    checked: list[Checked] = []
    check(domain, questions, checked.append)
    bad = [each for each in checked if each.verdict in (Verdict.WRONG, Verdict.FAILED)]
    assert bad == []
    right = sum(each.verdict is Verdict.RIGHT for each in checked)
    assert right >= 0.7 * len(checked)


def test_generated_questions_are_the_same_each_time_and_others_with_another_seed() -> None:
    shop = DOMAINS["shop"]
    first, again = list(generate(shop, 2)), list(generate(shop, 2))
    assert first == again
    assert list(generate(shop, 2, seed=2)) != first


@pytest.mark.parametrize(
    "text",
    [
        "the 5 pending shipments last month with the highest weight",
        "the 5 shipments to Berlin with the highest weight",
        "the 5 rejected shipments this year with the lowest weight",
    ],
)
def test_a_number_of_rows_is_cut_behind_the_order(text: str) -> None:
    (statement,) = statements(text)
    assert "QUALIFY rank() OVER (ORDER BY weight_kg" in statement
    assert "<= 5 ORDER BY weight_kg" in statement


@pytest.mark.parametrize(
    "text",
    [
        "average weight of 5 shipments",
        "how many of 10 shipments are contaminated",
        "total weight of 3 shipments to Berlin",
    ],
)
def test_a_number_of_rows_that_no_order_says_which_is_asked_about(text: str) -> None:
    assert kind(propose(text)) == "clarification"


def test_the_latest_rows_may_be_computed_over() -> None:
    assert statements("average weight of the last 10 shipments")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("top 3 contaminated shipments by weight", "has_contaminants"),
        ("top 3 clean shipments by weight", "has_contaminants"),
        ("How much did contaminated shipments weigh in 2024?", "has_contaminants"),
        ("How much did rejected shipments weigh in 2024?", "status"),
    ],
)
def test_a_state_before_its_thing_says_which_rows(text: str, argument: str) -> None:
    (_, given), (_, computed) = arguments(text)
    assert isinstance(given, dict)
    assert isinstance(computed, dict)
    assert argument in given
    assert "GROUP BY" not in str(computed["sql"])


def test_things_that_are_ranked_by_an_average_are_asked_about() -> None:
    """Each of them has one such number; which groups are meant is not said."""
    found = propose("Top 2 contaminants by average concentration in 2024")
    assert kind(found) == "clarification"


@pytest.mark.parametrize(
    "text",
    [
        "Top 2 substances by average contaminant concentration in 2024",
        "average concentration of lead contaminants per substance",
        "average concentration by substance",
        "Which substance has the highest average concentration?",
    ],
)
def test_a_word_for_things_and_for_a_column_of_theirs_says_the_groups(text: str) -> None:
    (_, _), (_, computed) = arguments(text)
    assert isinstance(computed, dict)
    assert "GROUP BY type" in str(computed["sql"])
