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
from tests.planners.planned import TODAY, propose
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
