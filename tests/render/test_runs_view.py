"""How runs and their items are reported in words."""

import pytest

from toolplan.events import RunState, StepState
from toolplan.show.runs_view import items_text, status_text


def over(state: str, *items: int) -> dict[int, StepState]:
    return dict.fromkeys(items, StepState(state))


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ({}, ""),
        (over("succeeded", 0), "item 0 succeeded"),
        (over("succeeded", 0, 1, 2, 5, 7, 8), "items 0–2, 5, 7–8 succeeded"),
        (over("failed", 2) | over("succeeded", 3, 1), "items 1, 3 succeeded; item 2 failed"),
    ],
)
def test_items_are_shown_as_spans(items: dict[int, StepState], text: str) -> None:
    assert items_text(items) == text


def test_a_run_that_no_process_works_on_is_interrupted_unless_it_waits_for_a_person() -> None:
    assert status_text(RunState.RUNNING, True) == "interrupted"
    assert status_text(RunState.RUNNING, False) == "running"
    assert status_text(RunState.IN_DOUBT, True) == "in doubt"
