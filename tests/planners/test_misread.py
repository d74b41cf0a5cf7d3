"""What was once answered wrongly, with others of its kind: now right, or asked about.

`questions/misread.json` has the answered ones, each with a statement on the same data, and the
asked ones with the words that are asked about.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.aggregates import Verdict, check_all
from tests.planners.planned import TODAY, arguments, propose
from toolplan.planners import Clarification

_QUESTIONS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "questions" / "misread.json").read_text("utf-8")
)
ANSWERED: Final[dict[str, str]] = _QUESTIONS["answered"]
ASKED: Final[dict[str, list[str]]] = _QUESTIONS["asked"]


def test_answers_are_those_of_statements_on_the_same_data() -> None:
    asked = [{"question": question, "sql": statement} for question, statement in ANSWERED.items()]
    checked = check_all(asked, date.fromisoformat(TODAY), rows=1_500)
    found = zip(ANSWERED, checked, strict=True)
    wrong = [(question, each.reason) for question, each in found if each.verdict != Verdict.RIGHT]
    assert not wrong


@pytest.mark.parametrize(("question", "words"), ASKED.items(), ids=list(ASKED))
def test_what_would_be_misread_is_asked_about(question: str, words: list[str]) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Clarification), proposal
    assert set(words) <= set(proposal.unexplained)


def test_what_happened_lists_all_that_has_a_date() -> None:
    last_week = {"date_from": "2025-10-05", "date_to": "2025-10-12", "facility_id": "F1"}
    assert arguments("what happened at Berlin Nord last week") == [
        (f"{kind}_list", last_week) for kind in ("shipments", "contaminants", "inspections")
    ]


@pytest.mark.parametrize(
    "question",
    ["which waste types does F14 accept", "what does F14 accept", "does F14 accept glass?"],
)
def test_a_list_of_one_thing_is_shown_by_its_row(question: str) -> None:
    assert arguments(question) == [("facilities_get", {"id": "F14"})]
