"""Runs as lines: their states and their forecasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from toolplan.engine.forecast import Forecast
from toolplan.events import Run, RunState, StepState
from toolplan.show._lines import Line, Piece, Screen, hanging_rows
from toolplan.show.printable import CELL_WIDTH, ELLIPSIS, count_text, cut, number_text, printable
from toolplan.show.run_progress import duration_text
from toolplan.storage.journal import RunEntry

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
_ENOUGH_PAST_CALLS: Final = 10  # with fewer, the slowest is no good bound for nine of ten
_MOST_NAMES: Final = 3
_MOST_ON_PATH: Final = 6
_LAST_ON_PATH: Final = 2


class RunsView(Struct, frozen=True):
    """The runs of a journal, as they are printed."""

    entries: Sequence[RunEntry]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        rows = [
            (
                (
                    Piece(screen.fit(printable(entry.run[:SHORT]))),
                    Piece(datetime.fromtimestamp(entry.created_at).strftime("%Y-%m-%d %H:%M")),
                    Piece(status_text(entry.status, entry.is_left), _STYLES[entry.status]),
                ),
                Piece(screen.fit(cut(printable(entry.question or entry.tools), _SUBJECT_WIDTH))),
            )
            for entry in self.entries
        ]
        yield from hanging_rows(rows, screen)


def run_marks(run: Run) -> dict[str, str]:
    """Return the state of each step of `run`, by its id, as marks of a plan tree."""
    marks: dict[str, str] = {}
    for name, step in run.steps.items():
        word = step.state.value.replace("_", " ")
        if step.items is not None and step.state is not StepState.SUCCEEDED:
            word += f", {step.items_done - step.items_failed} of {step.items} items"
        if step.started_at is not None and step.ended_at is not None:
            word += f" in {duration_text(step.ended_at - step.started_at)}"
        if step.error is not None:
            word += f": {cut(printable(step.error.message), _SUBJECT_WIDTH)}"
        marks[name] = word
    return marks


def status_text(status: RunState, is_left: bool) -> str:
    """Return the state of a run in words; `is_left`: no process works on it."""
    if status is RunState.RUNNING and is_left:
        return "interrupted"
    return status.value.replace("_", " ")


def items_text(over: Mapping[int, StepState]) -> str:
    """Return which items of a step, by number, are in which state, consecutive ones as a span."""
    spans: dict[StepState, list[list[int]]] = {}
    for item in sorted(over):
        of_state = spans.setdefault(over[item], [])
        if of_state and item == of_state[-1][-1] + 1:
            of_state[-1][1:] = [item]
        else:
            of_state.append([item])
    return "; ".join(
        f"{'item' if found == [found[0][:1]] else 'items'} "
        f"{', '.join('–'.join(map(str, span)) for span in found)} {state.value}"
        for state, found in spans.items()
    )


def forecast_text(forecast: Forecast) -> str:
    """Return `forecast` in one line: times where any are known, calls, and the critical path.

    >>> forecast_text(Forecast(1.2, 2.0, ("a", "b", "c"), 14, 14, 3, past_calls=50))
    'about 1.2 s, p90 2.0 s; 14 calls, 3 with effects; critical path a > b > c'
    """
    least, most = forecast.calls_least, forecast.calls_most
    at_most = "" if least == most else "at most "
    calls = f"{number_text(least, grouped=True)} to " if 0 < least < most else at_most
    calls += count_text(most, "call")
    if forecast.effect_calls_most:
        calls += f", {at_most}{number_text(forecast.effect_calls_most, grouped=True)} with effects"
    if not _expected(forecast):
        return calls
    parts = [_time_text(forecast), calls]
    if len(forecast.critical_path) > 1:
        path = [_name(step) for step in forecast.critical_path]
        if len(path) > _MOST_ON_PATH:
            path[_MOST_ON_PATH // 2 : -_LAST_ON_PATH] = [ELLIPSIS]
        parts.append(f"critical path {' > '.join(path)}")
    return "; ".join(parts)


def compared_text(forecast: Forecast, seconds: float) -> str:
    """Describe the duration of a run, in `seconds`, beside its forecast.

    >>> compared_text(Forecast(1.2, 2.0, ("a",), 1, 1, 0), 1.4)
    'took 1.4 s; about 1.2 s were expected'
    """
    took, expected = f"took {duration_text(seconds)}", _expected(forecast)
    return f"{took}; {expected} were expected" if expected else took


def _expected(forecast: Forecast) -> str:
    # without past calls of any tool, even the slowest run takes no time
    if not forecast.is_known and forecast.p90_s <= 0:
        return ""
    return f"{'about' if forecast.is_known else 'at least'} {duration_text(forecast.expected_s)}"


def _time_text(forecast: Forecast) -> str:
    text, slow = _expected(forecast), duration_text(forecast.p90_s)
    if forecast.is_known and forecast.past_calls < _ENOUGH_PAST_CALLS:
        text += ", by few past calls"
    elif forecast.is_known and slow != duration_text(forecast.expected_s):
        text += f", p90 {slow}"
    unknown: list[str] = []
    if forecast.unknown_tools:
        unknown.append(f"no past calls of {_names(forecast.unknown_tools)}")
    if counts := forecast.unknown_counts:
        have = "has one item" if len(counts) == 1 else "have one item each"
        unknown.append(f"if {_names(counts)} {have}")
    return f"{text} ({'; '.join(unknown)})" if unknown else text


def _names(names: Sequence[str]) -> str:
    shown = [_name(name) for name in names]
    if len(shown) > _MOST_NAMES:
        others = len(shown) - _MOST_NAMES + 1
        shown = [*shown[: _MOST_NAMES - 1], f"{number_text(others, grouped=True)} others"]
    return " and ".join([", ".join(shown[:-1])] * (len(shown) > 1) + shown[-1:])


def _name(name: str) -> str:
    return cut(printable(name), CELL_WIDTH)
