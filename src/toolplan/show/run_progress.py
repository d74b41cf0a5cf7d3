"""The progress of a run: a live view on a terminal, a line for each event elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from toolplan import events
from toolplan.plan.model import Plan
from toolplan.show._lines import Line, Piece, Prose, Screen, hanging_rows
from toolplan.show.console import Live, Output
from toolplan.show.printable import count_text, cut, number_text, printable

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
