"""Runs as a list, and the state of the steps of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from toolplan.events import Run, RunState, StepRun, StepState
from toolplan.render._grid import hanging_rows
from toolplan.render._lines import Line, Piece, Screen
from toolplan.render.printable import cut, printable
from toolplan.render.run_progress import duration_text

SHORT: Final = 8
"""The number of characters of a run's id that are shown."""

_STYLES: Final = {
    RunState.SUCCEEDED: "green",
    RunState.FAILED: "bold red",
    RunState.CANCELLED: "yellow",
    RunState.RUNNING: "cyan",
    RunState.WAITING: "bold yellow",
    RunState.IN_DOUBT: "bold yellow",
}
_SUBJECT_WIDTH: Final = 60


class RunLine(Struct, frozen=True):
    """One run of the list; `is_left` says that it is unfinished and no process works on it."""

    run: str
    created_at: float
    status: RunState
    subject: str
    is_left: bool


class RunsView(Struct, frozen=True):
    """The runs of a journal, as they are printed."""

    entries: Sequence[RunLine]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        rows = [
            (
                (
                    Piece(screen.fit(printable(entry.run[:SHORT]))),
                    Piece(datetime.fromtimestamp(entry.created_at).strftime("%Y-%m-%d %H:%M")),
                    Piece(status_text(entry.status, entry.is_left), _STYLES[entry.status]),
                ),
                Piece(screen.fit(cut(printable(entry.subject), _SUBJECT_WIDTH))),
            )
            for entry in self.entries
        ]
        yield from hanging_rows(rows, screen)


def run_marks(run: Run) -> dict[str, str]:
    """Return the state of each step of `run`, by its id, as marks of a plan tree."""
    return {name: _mark(step) for name, step in run.steps.items()}


def status_text(status: RunState, is_left: bool) -> str:
    """Return the state of a run in words; `is_left`: no process works on it."""
    if status is RunState.RUNNING and is_left:
        return "interrupted"
    return status.value.replace("_", " ")


def items_text(over: Mapping[int, StepState]) -> str:
    """Return which items of a step, by number, are in which state."""
    items_by_state: dict[StepState, list[int]] = {}
    for item in sorted(over):
        items_by_state.setdefault(over[item], []).append(item)
    return "; ".join(
        f"{'item' if len(items) == 1 else 'items'} {_spans(items)} {state.value}"
        for state, items in items_by_state.items()
    )


def _spans(items: Sequence[int]) -> str:
    """Return ascending numbers with consecutive ones as a span."""
    spans: list[list[int]] = []
    for item in items:
        if spans and item == spans[-1][-1] + 1:
            spans[-1][1:] = [item]
        else:
            spans.append([item])
    return ", ".join("–".join(map(str, span)) for span in spans)


def _mark(step: StepRun) -> str:
    word = step.state.value.replace("_", " ")
    if step.items is not None and step.state is not StepState.SUCCEEDED:
        word += f", {step.items_done - step.items_failed} of {step.items} items"
    if step.started_at is not None and step.ended_at is not None:
        word += f" in {duration_text(step.ended_at - step.started_at)}"
    if step.error is not None:
        word += f": {cut(printable(step.error.message), _SUBJECT_WIDTH)}"
    return word
