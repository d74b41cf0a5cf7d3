"""What a text claims, and what of it stands in the results."""

import pytest

from toolplan.events import Event, Run, RunEnded, RunStarted, RunState, StepSucceeded, fold
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.answer import answer
from toolplan.show.summary.claims import (
    Evidence,
    check_claims,
    dates,
    evidence_of,
    figures,
    identities,
)

ROWS: list[Json] = [
    {
        "id": f"S{n}-00{n}",
        "carrier": ["EcoTrans", "Rhein Logistik", "EcoTrans", "GreenHaul"][n],
        "inspector": ["Anna Becker", "Jonas Weber", "Piotr Nowak", "Elif Demir"][n],
        "weight_kg": [1234.5, 980, 12_345, 770][n],
        "contamination_rate": [0.3624, 0.1, 0.25, 0.125][n],
        "has_contaminants": n < 2,
        "date": f"2025-09-{14 + n}",
        "detected_at": f"2025-09-14T08:3{n}:00Z",
        "change": -12 - n,
        "notes": "container 77 was sealed" if n == 3 else None,
    }
    for n in range(4)
]
QUESTION = "Which are the top 3 carriers of the last 90 days in Hannover?"


def ran(output: Json) -> tuple[ExecutionPlan, Run]:
    step = Step("list", "shipments_list")
    plan = ExecutionPlan(Plan((step,)), ("list",), {"list": ()}, {}, (), "d")
    events: tuple[Event, ...] = (
        RunStarted("r", "d", ("list",), 0.0),
        StepSucceeded("list", output, 1, None, 1.0),
        RunEnded(RunState.SUCCEEDED, output, 2.0),
    )
    return plan, fold(events)


def evidence(output: Json = None, question: str = QUESTION) -> Evidence:
    plan, run = ran({"data": ROWS} if output is None else output)
    return evidence_of(answer(plan, run), run, question)


EVIDENCE = evidence()


def unsupported(text: str) -> list[str]:
    return [claim.text for claim in check_claims(text, EVIDENCE) if not claim.found]


def claimed(text: str) -> list[tuple[str, bool]]:
    return [(claim.text, claim.found) for claim in check_claims(text, EVIDENCE)]


@pytest.mark.parametrize(
    ("text", "value", "share"),
    [
        ("1,234.5", 1234.5, False),
        ("1\u202f234", 1234, False),
        ("1'234", 1234, False),
        ("1 234", 1234, False),
        ("1.2k", 1200, False),
        ("1.2K", 1200, False),
        ("3M", 3e6, False),
        ("€3m", 3e6, False),
        ("2 million", 2e6, False),
        ("1.5 bn", 1.5e9, False),
        ("1e3", 1000, False),
        ("-5", -5, False),
        ("\u22125", -5, False),
        ("minus 5", -5, False),
        ("$40", 40, False),
        ("37 %", 37, True),
        ("37%", 37, True),
        ("36.2 percent", 36.2, True),
        ("36 per cent", 36, True),
        ("2 percentage points", 2, True),
        ("twenty", 20, False),
        ("Twenty-five", 25, False),
        ("two hundred and five", 205, False),
        ("three thousand", 3000, False),
        ("a dozen", 12, False),
        ("a hundred", 100, False),
        ("37％", 37, True),
        ("ten percent", 10, True),
        ("5m", 5, False),
        ("90-day", 90, False),
        (".5", 0.5, False),
    ],
)
def test_numbers_are_read_in_their_usual_spellings(text: str, value: float, share: bool) -> None:
    (found,) = figures(f"it was {text} there")
    assert found.value == pytest.approx(value)
    assert found.share is share


@pytest.mark.parametrize(
    "text", ["one of them", "CO2", "the second half", "zero doubts", "several hundred", "the 3rd"]
)
def test_words_that_only_look_like_numbers_are_none(text: str) -> None:
    assert figures(text) == ()


def test_a_range_of_shares_has_two_shares() -> None:
    low, high = figures("between 10 and 36 %")
    assert low.either
    assert high.share
    assert unsupported("between 10 and 36 %") == []
    assert unsupported("12.5-36 %") == []


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-12", "2025/10/12", "12.10.2025", "12/10/2025", "12 October 2025",
        "12th of October 2025", "12. Oct. 2025", "October 12, 2025", "Oct 12th", "October 2025",
        "2025-10", "Q3 2025", "2025-Q3", "H1 2025", "2025-09-14T08:31:00.5+02:00", "8:31",
        "in 2025",
    ],
)  # fmt: skip
def test_dates_are_no_numbers_in_their_usual_spellings(text: str) -> None:
    said = f"It was {text}."
    assert [said[start:end] for start, end in dates(said)] == [text]
    assert claimed(said) == []


@pytest.mark.parametrize(
    "text", ["a total of 2,025 shipments", "45 kg", "ratio 3:400", "in 2025 %"]
)
def test_numbers_that_are_no_dates_are_checked(text: str) -> None:
    assert dates(text) == ()
    assert len(claimed(text)) > 0


def test_identities_are_distinguished_from_numbers_with_units() -> None:
    text = "S1-001 weighs 37kg, F11, 1.2k rows, 90-day, the 3rd, PM2.5, a1@b.example, Q3"
    found = [text[start:end] for start, end in identities(text)]
    assert found == ["S1-001", "F11", "PM2.5", "a1@b.example"]


@pytest.mark.parametrize(
    "text",
    [
        "1,234.5 kg", "1,234 kg", "1,235 kg", "about 1,200 kg", "1.2k kg", "12,345", "12.3k",
        "36.2 %", "36%", "about 10 %", "0.36", "-12", "fell by 13",
        "all 4 rows", "four rows", "container 77",
        "the last 90 days", "over 90 days", "a 90-day period", "the top 3", "top three",
        "14 September 2025", "Sept 15", "in September", "Q3 2025", "on Sunday",
        "in 2025", "08:31", "2025-09-14T08:31:00Z",
    ],
)  # fmt: skip
def test_what_the_results_or_the_question_say_may_be_said(text: str) -> None:
    if text == "fell by 13":  # the rows have -13: the sign is part of a number
        assert unsupported(text) == ["13"]
        return
    assert unsupported(f"it was {text}") == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,236 kg", "1,236"), ("1.3k kg", "1.3k"), ("about 1,300 kg", "1,300"),
        ("1,200 kg", "1,200"), ("37 %", "37 %"),
        ("twenty rows", "twenty"), ("the last 30 days", "30"), ("the top 5", "5"),
        ("90 rows", "90"), ("shipment S9-009", "S9-009"),
        ("two million", "two million"),
    ],
)  # fmt: skip
def test_what_stands_nowhere_is_not_found(text: str, what: str) -> None:
    assert unsupported(f"it was {text}") == [what]


def test_numbers_of_the_question_are_no_results() -> None:
    """A question that supposes a figure must not make it true."""
    asked = evidence(question="Were there 500 rejected shipments?")
    (claim,) = check_claims("there were 500 rejected shipments", asked)
    assert not claim.found


def test_identities_are_found_in_rows_and_question() -> None:
    asked = evidence(question="About Q-77?")
    claims = check_claims("S1-001, Q-77 and Z9", asked)
    assert [claim.found for claim in claims] == [True, True, False]


def test_names_and_dates_are_no_claims() -> None:
    text = "## Key Findings\n**Acme Ltd** won on Friday, 3 May, in Munich.\n| Anna Weber |\n"
    assert claimed(text) == []


def test_list_numbers_and_claims_side_by_side_are_kept_apart() -> None:
    assert unsupported("- 980 kg\n- 770 kg; 12,999 kg") == ["12,999"]
    assert unsupported("1. EcoTrans\n 2) **Acme**\n17. Overall 16 kg\nwas 18. Twice") == [
        "16",
        "18",
    ]


def test_rows_on_the_way_are_no_results() -> None:
    first, last = Step("a", "list"), Step("b", "sql", args={}, after=("a",))
    plan = ExecutionPlan(
        Plan((first, last), output=Literal(None)), ("a", "b"), {"a": (), "b": ("a",)}, {}, (), "d"
    )
    _, run = ran({"data": [{"n": 555}]})
    found = evidence_of(answer(plan, run), run)
    assert [claim.found for claim in check_claims("555 rows", found)] == [False]


def test_shares_follow_from_the_counts_of_a_computed_table() -> None:
    rows: list[Json] = [{"status": "rejected", "n": 3}, {"status": "delivered", "n": 13}]
    found = evidence({"data": rows})
    claims = check_claims("rejected were 18.75 %, delivered 81 %, lost 17 %", found)
    assert [claim.found for claim in claims] == [True, True, False]


def test_what_is_no_number_and_what_is_too_long_raises_nothing() -> None:
    found = evidence({"data": [{"a": float("nan"), "b": 10**400, "c": "x" * 9000}]})
    claims = check_claims("9" * 5000 + " and 1e999999 and 31/31/2025", found)
    assert not any(claim.found for claim in claims)
