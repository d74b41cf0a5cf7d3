"""The scorer of blind questions: what counts as right, answered and flipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.questions import Figures, calls, figures, is_right, lines, verdicts


def _row(question: str, expect: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "t-1",
        "question": question,
        "today": "2025-10-12",
        "kind": "single_filter",
        "expect": expect,
        **more,
    }


def _listed(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, "after": []}


ROWS = [
    _row("rejected shipments", {"plan": [_listed("shipments_list", status="REJECTED", limit=50)]}),
    _row("contaminated shipments", {"plan": [_listed("shipments_list", has_contaminants=False)]}),
    _row("facilities in Bremen", {"clarify": "a reason"}),
    _row("florble the glimp", {"clarify": "a reason"}),
    _row("rejected shipments", {"refuse": "a reason"}, doubt=True),
]


def test_the_sums_count_answers_right_ones_and_flips(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    found = verdicts(path)
    assert figures(found) == Figures(questions=4, answered=3, right=1, flips=1)
    shown = "\n".join(lines(found, every=True))
    assert "WRONG FLIP  t-1 contaminated shipments" in shown
    assert "asked  t-1 florble the glimp" in shown


def _plan(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"steps": [{"id": f"s{n}", **step} for n, step in enumerate(steps)]}


def test_steps_may_stand_in_any_order_and_lists_are_sets() -> None:
    plan = calls(
        _plan(
            {"tool": "b", "args": {"ids": ["2", "1"]}},
            {"tool": "a"},
            {"tool": "c", "args": {"of": "${s1.data[*].id}"}},
        )
    )
    gold = [
        _listed("a"),
        {"tool": "c", "args": {}, "after": [0], "refs": {"of": "0.data[*].id"}},
        _listed("b", ids=["1", "2"]),
    ]
    assert is_right(plan, {"plan": gold})
    assert is_right(plan, {"plans": [[_listed("a")], gold]})
    gold[1]["refs"] = {"of": "2.data[*].id"}
    assert not is_right(plan, {"plan": gold})


@pytest.mark.parametrize(
    ("args", "right"), [({}, True), ({"status": "x"}, True), ({"status": "y"}, False)]
)
def test_a_read_below_a_computing_step_may_ask_for_more(args: dict[str, Any], right: bool) -> None:
    plan = calls(_plan({"tool": "a", "args": args}, {"tool": "sql", "args": {"sql": "SELECT 1"}}))
    expect = {"sql": True, "reads": [_listed("a", status="X", limit=100)]}
    assert is_right(plan, expect) is right
    assert not is_right(plan[:1], expect)
