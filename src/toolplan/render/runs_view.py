"""Runs as lines: their states, and what they are expected to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from toolplan.events import Run, RunState, StepRun, StepState
from toolplan.forecast import Forecast
from toolplan.render._lines import Line, Piece, Screen, hanging_rows
from toolplan.render.printable import CELL_WIDTH, ELLIPSIS, cut, number_text, printable
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


_ENOUGH_PAST_CALLS: Final = 10  # with fewer, the slowest is no good bound for nine of ten
_MOST_NAMES: Final = 3
_MOST_ON_PATH: Final = 6
_LAST_ON_PATH: Final = 2


def forecast_text(forecast: Forecast) -> str:
    """Return `forecast` in one line: times where any are known, calls, and the critical path.

    >>> forecast_text(Forecast(1.2, 2.0, ("a", "b", "c"), 14, 14, 3, past_calls=50))
    'about 1.2 s, p90 2.0 s; 14 calls, 3 with effects; critical path a > b > c'
    """
    if not _has_time(forecast):
        return _calls_text(forecast)
    parts = [_time_text(forecast), _calls_text(forecast)]
    if len(forecast.critical_path) > 1:
        parts.append(f"critical path {_path_text(forecast.critical_path)}")
    return "; ".join(parts)


def compared_text(forecast: Forecast, seconds: float) -> str:
    """Return how long a run took, in `seconds`, beside what was expected of it.

    >>> compared_text(Forecast(1.2, 2.0, ("a",), 1, 1, 0), 1.4)
    'took 1.4 s; about 1.2 s were expected'
    """
    took = f"took {duration_text(seconds)}"
    return f"{took}; {_expected(forecast)} were expected" if _has_time(forecast) else took


def _has_time(forecast: Forecast) -> bool:
    # where nothing is known of any tool, even the slowest run takes no time at all
    return forecast.is_known or forecast.p90_s > 0


def _expected(forecast: Forecast) -> str:
    return f"{'about' if forecast.is_known else 'at least'} {duration_text(forecast.expected_s)}"


def _time_text(forecast: Forecast) -> str:
    text = _expected(forecast) + (_spread_text(forecast) if forecast.is_known else "")
    unknown = "; ".join(_unknown(forecast))
    return f"{text} ({unknown})" if unknown else text


def _spread_text(forecast: Forecast) -> str:
    if forecast.past_calls < _ENOUGH_PAST_CALLS:
        return ", by few past calls"
    within = duration_text(forecast.p90_s)
    return "" if within == duration_text(forecast.expected_s) else f", p90 {within}"


def _unknown(forecast: Forecast) -> Iterator[str]:
    if forecast.unknown_tools:
        yield f"no past calls of {_names(forecast.unknown_tools)}"
    match forecast.unknown_counts:
        case ():
            return
        case (name,):
            yield f"if {_name(name)} has one item"
        case names:
            yield f"if {_names(names)} have one item each"


def _calls_text(forecast: Forecast) -> str:
    least, most = forecast.calls_least, forecast.calls_most
    effects = number_text(forecast.effect_calls_most, grouped=True)
    calls = f"{number_text(most, grouped=True)} call{'' if most == 1 else 's'}"
    if least == most:
        return f"{calls}, {effects} with effects" if forecast.effect_calls_most else calls
    counted = f"{number_text(least, grouped=True)} to {calls}" if least else f"at most {calls}"
    return f"{counted}, at most {effects} with effects" if forecast.effect_calls_most else counted


def _path_text(path: Sequence[str]) -> str:
    shown = [_name(step) for step in path]
    if len(shown) > _MOST_ON_PATH:
        begun = _MOST_ON_PATH - _LAST_ON_PATH - 1
        shown = [*shown[:begun], ELLIPSIS, *shown[-_LAST_ON_PATH:]]
    return " > ".join(shown)


def _names(names: Sequence[str]) -> str:
    shown = [_name(name) for name in names]
    if len(shown) > _MOST_NAMES:
        others = len(shown) - _MOST_NAMES + 1
        shown = [*shown[: _MOST_NAMES - 1], f"{number_text(others, grouped=True)} others"]
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def _name(name: str) -> str:
    return cut(printable(name), CELL_WIDTH)
