"""Results that report a failure themselves, although their call succeeded."""

import pytest

import toolplan
from toolplan import tool
from toolplan.plan.path import Json
from toolplan.show.answer import answer
from toolplan.show.answer.shape import reported_failure

THINGS: list[Json] = [
    {"status": "failed", "branch": "main"},
    {"status": "failed", "branch": "main", "message": "Mend the tests"},
    {"state": "failed", "name": "deploy", "duration": 12},
    {"result": "failure", "workflow": "ci", "started_at": "2026-01-02"},
    {"status": "error", "monitor": "eu-west", "checks": [1, 2]},
    {"outcome": "failed", "student": "Ada", "grade": 5},
    {"status": "fail", "url": "https://a.example", "elapsed_ms": 9},
    {"result": "failed", "home": "A", "away": "B"},
    {"state": "error", "sensor": "t1", "value": 3.5},
    {"status": "Failed", "order": "A-7", "items": [{"sku": 1}], "message": "Call me"},
]
"""Data of things with a state, where a call reads them."""


@pytest.mark.parametrize("output", THINGS)
def test_what_became_of_a_call_that_acts_is_reported(output: Json) -> None:
    assert reported_failure(output, acts=True)
    assert reported_failure([output], each=True, acts=True)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"ok": False, "error": "no such ticket"}, "ok: false, error: no such ticket"),
        ({"success": False}, "success: false"),
        ({"isSuccess": False, "data": None}, "isSuccess: false"),
        ({"succeeded": False, "id": 3, "message": "funds"}, "succeeded: false, message: funds"),
        ({"status": "error", "message": "quota"}, "status: error, message: quota"),
        ({"status": "fail", "data": {"title": "required"}}, "status: fail"),
        ({"result": "FAILED", "reason": "closed"}, "result: FAILED, reason: closed"),
        ({"status": "error", "valid": False}, "status: error"),
        ({"status": "failed", "is_paid": False}, "status: failed"),
        ({"error": "disk full"}, "error: disk full"),
        ({"error": {"code": 404}, "data": None}, 'error: {"code": 404}'),
        ({"errors": ["a", "b"], "code": 7}, 'errors: ["a", "b"]'),
        ({"status_code": 500, "detail": "", "error": "x"}, "error: x, detail: "),
        ({"status": "error", "query": "x", "message": "quota"}, "status: error, message: quota"),
        ({"state": "failed", "query": "x", "reason": "quota"}, "state: failed, reason: quota"),
        (
            {"status": "failure", "error": "no funds", "amount": 7},
            "status: failure, error: no funds",
        ),
        ({"outcome": "fail", "rows": [1], "detail": "cut"}, "outcome: fail, detail: cut"),
        ({"status": "failed"}, "status: failed"),
    ],
)
def test_an_error_in_place_of_a_result_is_recognised(output: Json, words: str) -> None:
    assert reported_failure(output) == words


@pytest.mark.parametrize(
    "output",
    [
        {},
        [],
        None,
        "error",
        {"ok": True, "error": None},
        {"error": None, "rows": [1]},
        {"errors": [], "data": [{"id": 1}]},
        {"error": "timeout", "at": "2026-01-02"},  # a row of a log
        {"id": 3, "status": "failed", "error": "disk full"},  # the record of a job
        {"jobId": 3, "state": "error"},
        {"status": "open", "message": "hello"},
        {"ok": None},
        {"success": 0},
        [{"ok": False}],  # rows of a list
        *THINGS,
    ],
)
def test_a_result_about_something_else_is_none(output: Json) -> None:
    assert reported_failure(output) == ""


def test_the_results_of_a_for_each_are_counted() -> None:
    items: Json = [{"ok": True}, {"ok": False, "error": "a"}, None, {"ok": False}]
    assert reported_failure(items, each=True) == "ok: false, error: a (and 1 of the other 3)"


@tool(effects="read")
def charge(card: str) -> dict[str, bool | str]:
    """Charge a card."""
    return {"ok": card != "lost", "message": card}


async def test_the_answer_names_it_though_the_run_succeeded() -> None:
    steps: list[dict[str, Json]] = [
        {"id": "a", "tool": "charge", "args": {"card": "lost"}},
        {"id": "b", "tool": "charge", "args": {"card": "new"}, "after": ["a"]},
    ]
    document: dict[str, Json] = {"toolplan": 1, "steps": [*steps], "output": "${b.message}"}
    async with toolplan.open([charge]) as app:
        run = await app.run(document)
        plan = app.check(document).plan
    assert run.succeeded
    assert plan is not None
    found = answer(plan, run)
    assert found.headline.startswith("The result of 1 of 2 steps reports a failure.")
    assert [(each.step, each.code, each.fatal) for each in found.problems] == [
        ("a", "reported-failure", False)
    ]
    assert "a gave a result that reports a failure: ok: false, message: lost" in found.text
