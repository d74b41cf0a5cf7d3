"""The states that the page shows, for each state of a run and of its steps in the journal."""

from typing import Any, get_args

import pytest

from toolplan.app.workers import Placed
from toolplan_studio._run_wire import RunState, ShownStepState
from toolplan_studio._states import STEP_NOTES, run_note, shown_step_state
from toolplan_studio._wire import RunStatus, StepStatus


def _members(alias: object) -> list[Any]:
    """Return the values of a Literal, or of a union of them."""
    return [name for each in get_args(alias) for name in (_members(each) or [each])]


RUN_STATES: list[RunState] = _members(RunState)
STEP_STATES: list[StepStatus] = _members(StepStatus)
ENDED = ("succeeded", "failed", "cancelled", "refused")


@pytest.mark.parametrize("step", STEP_STATES)
@pytest.mark.parametrize("run", RUN_STATES)
def test_a_step_runs_only_in_a_running_run(run: RunState, step: StepStatus) -> None:
    shown = shown_step_state(run, step)
    assert shown in STEP_NOTES
    if step == "running":
        assert shown == ("running" if run == "running" else "interrupted")
    elif step in ("pending", "waiting"):
        assert shown == ("not_run" if run in ENDED else step)
    else:
        assert shown == step


def test_each_state_has_a_sentence() -> None:
    assert set(STEP_NOTES) == set(_members(ShownStepState))
    assert set(RUN_STATES) > set(_members(RunStatus))
    assert all(note.endswith(".") for note in STEP_NOTES.values())


@pytest.mark.parametrize("state", RUN_STATES)
def test_a_run_says_who_continues_it(state: RunState) -> None:
    alone = run_note(state, None)
    assert alone.endswith(".")
    assert "worker" not in alone.replace("No worker", "") or state == "parked"
    assert run_note(state, None, is_active=True) == "This studio runs it."
    has_worker = run_note(state, Placed("office", "", has_worker=True))
    no_worker = run_note(state, Placed("office@2", "", has_worker=False))
    if state in ("succeeded", "failed"):
        assert alone == has_worker == no_worker
    elif state != "parked":
        assert "decisions made here are sent to them" in has_worker or state == "no_worker"
        assert "Start `toolplan worker office` with" in no_worker


def test_a_button_is_named_only_where_it_is_shown() -> None:
    assert "Resume the run" in run_note("interrupted", None, ["resume", "cancel"])
    assert "Resume the run" not in run_note("interrupted", None, ["cancel"])
