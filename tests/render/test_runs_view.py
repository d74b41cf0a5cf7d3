"""How runs and their items are told in words."""

from __future__ import annotations

import pytest

from toolplan.events import RunState
from toolplan.path import Json
from toolplan.render.runs_view import items_text, status_text


def over(state: str, *items: int) -> list[Json]:
    return [{"item": item, "state": state} for item in items]


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (over("succeeded", 0), "item 0 succeeded"),
        (over("succeeded", 0, 1, 2, 5, 7, 8), "items 0–2, 5, 7–8 succeeded"),
        ([*over("succeeded", 1, 3), *over("failed", 2)], "items 1, 3 succeeded; item 2 failed"),
    ],
)
def test_items_are_told_as_spans(items: list[Json], text: str) -> None:
    assert items_text(items) == text


def test_a_run_on_which_nobody_works_is_interrupted_unless_it_waits_for_somebody() -> None:
    assert status_text(RunState.RUNNING, True) == "interrupted"
    assert status_text(RunState.RUNNING, False) == "running"
    assert status_text(RunState.IN_DOUBT, True) == "in doubt"
