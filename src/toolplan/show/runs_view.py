"""Runs as lines: live progress, lists, forecasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Self

from msgspec import Struct

from toolplan import events
from toolplan.engine.forecast import Forecast
from toolplan.events import Run, RunState, StepState
from toolplan.plan.model import Plan
from toolplan.show.console import Live, Output
from toolplan.show.document import Line, Piece, Prose, Screen, hanging_rows
from toolplan.show.printable import CELL_WIDTH, ELLIPSIS, count_text, cut, number_text, printable
from toolplan.storage.journal import RunEntry

_MOST_ROWS: Final = 16
_MESSAGE_WIDTH: Final = 160
_PER_SECOND: Final = 8

# if there is no room for all steps, the first of these are shown
_SIGNS: Final = {
    events.StepState.FAILED: ("✗", "bold red"),
    events.StepState.IN_DOUBT: ("?", "bold yellow"),
    events.StepState.WAITING: ("?", "yellow"),
    events.StepState.RUNNING: ("→", "cyan"),
    events.StepState.CANCELLED: ("-", "yellow"),
    events.StepState.SKIPPED: ("-", "yellow"),
    events.StepState.PENDING: ("·", "dim"),
    events.StepState.SUCCEEDED: ("✓", "green"),
}


class RunProgress:
    """Shows a run of `plan` on `console`: enter it, then call it with each event.

    `clock` returns seconds since the epoch, to update the times of running steps between events.
    All events must come from one thread.

    `before` are the journal's events of a run that is resumed. They count in the view but are not
    printed again, and there is no view until the next event.
    """

    def __init__(
        self,
        plan: Plan,
        console: Output,
        *,
        clock: Callable[[], float] | None = None,
        before: Sequence[events.Event] = (),
    ) -> None:
        so_far = events.fold(before)
        self._console = console
        self._tools = {step.id: printable(step.tool) for step in plan.steps}
        self._steps = {**dict.fromkeys(self._tools, events.StepRun()), **so_far.steps}
        self._status = so_far.status
        self._is_open = False
        # until it is resumed, steps are in the state in which the last process left them
        self._is_at_rest = bool(before)
        self._messages: dict[str, str] = {}
        self._clock = clock
        self._latest = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._is_open = True
        self._start_live()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, event: events.Event) -> None:
        """Show `event`."""
        self._latest = event.at
        if isinstance(event, events.RunEvent):
            run = events.apply(events.Run(status=self._status, steps=self._steps), event)
            self._status, self._steps = run.status, {**self._steps, **run.steps}
        elif (before := self._steps.get(event.step)) is not None:
            # one step only: folding the whole run would cost its length for each event
            after = events.apply(events.Run(steps={event.step: before}), event)
            self._steps[event.step] = after.steps[event.step]
            if isinstance(event, events.StepProgressed):
                done = number_text(event.done, grouped=True)
                if event.total is not None:
                    done += f"/{number_text(event.total, grouped=True)}"
                self._messages[event.step] = cut(
                    f"{done} {printable(event.message)}", _MESSAGE_WIDTH
                )
        if self._is_at_rest:
            self._is_at_rest = False
            self._start_live()
        if self._live is None and (line := _event_line(event, self._steps)):
            self._console.print(line)

    def _start_live(self) -> None:
        if self._is_open and not self._is_at_rest and self._console.is_terminal:
            self._live = self._console.live(self.view, _PER_SECOND)
            self._live.start()

    def view(self) -> ProgressView:
        """Return the run as it is now."""
        now = self._latest if self._clock is None else self._clock()
        steps = list(self._steps.items())
        if len(steps) > _MOST_ROWS:
            ranked = sorted(steps, key=lambda each: [*_SIGNS].index(each[1].state))
            kept = {name for name, _ in ranked[:_MOST_ROWS]}
            steps = [each for each in steps if each[0] in kept]
        rows = [self._row(name, step, now) for name, step in steps]
        states = Counter(step.state for step in self._steps.values())
        counts = [
            f"{number_text(states[state], grouped=True)} {state.value.replace('_', ' ')}"
            for state in events.StepState
            if states[state]
        ]
        status = self._status.value.replace("_", " ")
        return ProgressView(rows, f"{status}: {', '.join(counts) or 'no steps'}")

    def _row(self, name: str, step: events.StepRun, now: float) -> list[Piece]:
        sign, style = _SIGNS[step.state]
        end = now if step.ended_at is None else step.ended_at
        spent = "" if step.started_at is None else duration_text(end - step.started_at)
        message = self._messages.get(name, "") if step.state is events.StepState.RUNNING else ""
        items = ""
        if step.items is not None:
            done = number_text(step.items_done, grouped=True)
            items = f"{done}/{number_text(step.items, grouped=True)}"
        return [
            Piece(f"{sign} {printable(name)}", style),
            Piece(self._tools.get(name, "")),
            Piece(step.state.value.replace("_", " "), style),
            Piece(items),
            Piece(spent, "dim"),
            Piece(message if step.error is None else _reason(step.error), "dim"),
        ]


class ProgressView(Struct, frozen=True):
    """The steps of a run in progress, each with what it does, and how many are in which state."""

    rows: Sequence[Sequence[Piece]]
    counts: str

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        rows = [[Piece(screen.fit(text), style) for text, style in row] for row in self.rows]
        yield from hanging_rows([(row[:-1], row[-1]) for row in rows], screen)
        yield from Prose(self.counts, "bold").lines(screen)


def duration_text(seconds: float) -> str:
    """Return a duration for people.

    >>> duration_text(0.0123), duration_text(4.21), duration_text(125)
    ('12 ms', '4.2 s', '2 min 5 s')
    """
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _event_line(event: events.Event, steps: dict[str, events.StepRun]) -> str:
    """Return the line for `event`, or an empty text."""
    match event:
        case events.RunStarted(run=run, steps=ids):
            return f"run {printable(run)}: started, {count_text(len(ids), 'step')}"
        case events.StepArrived(step=step):
            return f"{printable(step)}: arrived"
        case events.PlanSettled(steps=ids):
            return f"plan: complete, {count_text(len(ids), 'step')}"
        case events.RunParked(status=status) | events.RunEnded(status=status):
            return f"run: {status.value.replace('_', ' ')}"
        case _:
            pass
    if isinstance(event, events.RunEvent):
        return f"run: {_TEXTS[type(event)]}"
    text = _step_text(event, steps.get(event.step))
    item = getattr(event, "item", None)
    return f"{printable(event.step)}{'' if item is None else f'[{item}]'}: {text}" if text else ""


_TEXTS: Final[Mapping[type, str]] = {
    events.RunWaiting: "waiting for an approval",
    events.RunApproved: "approved",
    events.ApprovalStaged: "calls with effects wait until their values are approved",
    events.RunResumed: "resumed",
    events.StepStarted: "started",
    events.AttemptFailed: "attempt {attempt} failed: {reason}",
    events.ItemEnded: "{reason}",
    events.StepSucceeded: "succeeded{spent}",
    events.StepFailed: "failed{spent}: {reason}",
    events.StepSkipped: "skipped: {reason}",
    events.StepCancelled: "cancelled",
    events.CallAnsweredLate: "answered after its timeout: {reason}",
    events.CallInDoubt: "in doubt: {reason}",
    events.CallDecided: "decided: {decision}",
    events.CallWaiting: "waits for a person",
}


def _step_text(event: events.StepEvent, step: events.StepRun | None) -> str:
    failure = getattr(event, "failure", None)
    reason = "a result" if failure is None else _reason(failure)
    spent = ""
    if step is not None and step.started_at is not None and step.ended_at is not None:
        spent = f" in {duration_text(step.ended_at - step.started_at)}"
    match event:
        case events.StepStarted(items=int(items)):
            return f"started, {count_text(items, 'item')}"
        case events.StepSucceeded() if failure is not None:
            return f"failed, the plan continues: {reason}"
        case events.ItemEnded() if failure is None:
            return ""
        case events.ConsentGiven(allowed=allowed):
            return f"{'allowed' if allowed else 'refused'} by a person"
        case _:
            given = {name: getattr(event, name, "") for name in ("attempt", "decision")}
            return _TEXTS.get(type(event), "").format(reason=reason, spent=spent, **given)


def _reason(failure: events.Failure) -> str:
    return cut(printable(failure.message) or printable(failure.code), _MESSAGE_WIDTH)


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
        path = [_short_name(step) for step in forecast.critical_path]
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
    shown = [_short_name(name) for name in names]
    if len(shown) > _MOST_NAMES:
        others = len(shown) - _MOST_NAMES + 1
        shown = [*shown[: _MOST_NAMES - 1], f"{number_text(others, grouped=True)} others"]
    return " and ".join([", ".join(shown[:-1])] * (len(shown) > 1) + shown[-1:])


def _short_name(name: str) -> str:
    return cut(printable(name), CELL_WIDTH)
