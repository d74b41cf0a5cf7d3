"""A run as it goes, on a terminal and elsewhere."""

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from toolplan.events import (
    AttemptFailed,
    CallAnsweredLate,
    CallDecided,
    CallInDoubt,
    CallIntended,
    Event,
    Failure,
    ItemEnded,
    PlanSettled,
    RunApproved,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    RunState,
    RunWaiting,
    StepArrived,
    StepCancelled,
    StepFailed,
    StepProgressed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.plan.model import Plan, Step
from toolplan.show.console import Output
from toolplan.show.runs_view import RunProgress

PLAN = Plan(tuple(Step(name, f"{name}_tool") for name in ("a", "b", "c", "d")))
ONE = Plan((Step("a", "a_tool"),))
EVENTS: tuple[Event, ...] = (
    RunStarted("r1", "digest", ("a", "b", "c", "d"), 100.0),
    StepStarted("a", 3, 100.0),
    StepStarted("b", None, 100.1),
    ItemEnded("a", 0, None, 1, None, 100.2),
    ItemEnded("a", 1, None, 1, Failure("timeout", "too slow"), 100.3),
    StepProgressed("b", 2000, 10000, "half \x1b[2J", 100.35),
    AttemptFailed("b", None, 1, Failure("tool-error", "[red]no\x1b[2J"), 100.4),
    StepSucceeded("a", [1, None, 2], 1, None, 101.5),
    StepFailed("b", Failure("tool-error", "no way"), 2, 101.6),
    StepSkipped("c", Failure("upstream-failed", "'b' failed"), 101.6),
    StepCancelled("d", 101.7),
    RunEnded(RunState.FAILED, None, 101.8),
)


def shown(
    events: Iterable[Event],
    *,
    terminal: bool,
    plan: Plan = PLAN,
    encoding: str = "utf-8",
    **options: Any,
) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = Console(file=stream, width=100, force_terminal=terminal, color_system=None)
    with RunProgress(plan, Output(console), **options) as progress:
        for event in events:
            progress(event)
    stream.flush()
    stream.seek(0)
    return stream.read()


def test_elsewhere_there_is_a_line_for_each_event_worth_one() -> None:
    assert shown(EVENTS, terminal=False).splitlines() == [
        "run r1: started, 4 steps",
        "a: started, 3 items",
        "b: started",
        "a[1]: too slow",
        "b: attempt 1 failed: [red]no\\x1b[2J",
        "a: succeeded in 1.5 s",
        "b: failed in 1.5 s: no way",
        "c: skipped: 'b' failed",
        "d: cancelled",
        "run: failed",
    ]


def test_waiting_doubt_and_what_was_decided_are_shown() -> None:
    gone = Failure("outcome-unknown", "unknown")
    events: tuple[Event, ...] = (
        RunStarted("r1", "", (), 1.0),
        StepArrived("a", 1.0),
        PlanSettled("digest", ("a",), 1.1),
        RunWaiting(1.2),
        RunApproved("approval", "digest", 1.3),
        StepStarted("a", 2, 1.3),
        CallIntended("a", 0, 1, "key", 1.4),
        CallInDoubt("a", 0, 1, gone, 1.5),
        CallAnsweredLate("a", 0, 1, None, 1.6),
        CallAnsweredLate("a", 0, 1, Failure("tool-error", "no"), 1.6),
        RunParked(RunState.IN_DOUBT, 1.7),
        RunResumed(1.8),
        CallDecided("a", 0, 1, "resolve", None, 1.8),
    )
    assert shown(events, terminal=False, plan=ONE).splitlines() == [
        "run r1: started, 0 steps",
        "a: arrived",
        "plan: complete, 1 step",
        "run: waiting for an approval",
        "run: approved",
        "a: started, 2 items",
        "a[0]: in doubt: unknown",
        "a[0]: answered after its timeout: a result",
        "a[0]: answered after its timeout: no",
        "run: in doubt",
        "run: resumed",
        "a[0]: decided: resolve",
    ]
    assert "in doubt: 1 in doubt" in shown(events[:-2], terminal=True, plan=ONE)


def test_a_step_that_the_plan_continues_without_says_so() -> None:
    went_on = StepSucceeded("a", None, 1, Failure("timeout", "too slow"), 101.0)
    assert shown([went_on], terminal=False) == "a: failed, the plan continues: too slow\n"


def test_a_terminal_shows_how_every_step_stands() -> None:
    last = shown(EVENTS, terminal=True).split("\x1b[?25h")[0].split("\x1b[2K")[-1]
    text = shown(EVENTS, terminal=True)
    assert "✓ a" in text
    assert "2/3" in text
    assert "no way" in text
    assert "failed: 1 succeeded, 1 failed, 1 skipped, 1 cancelled" in last


def test_running_steps_show_their_items_and_progress() -> None:
    text = shown(EVENTS[:6], terminal=True, clock=lambda: 165.0)
    assert "→ a" in text
    assert "2/3" in text
    assert "1 min 5 s" in text
    assert "2000/10,000 half \\x1b[2J" in text
    assert "running: 2 pending, 2 running" in text


def test_a_terminal_that_is_not_utf_8_shows_it_too_c12() -> None:
    assert "+ a" in shown(EVENTS, terminal=True, encoding="ascii")


def test_of_a_thousand_steps_the_most_telling_are_shown() -> None:
    plan = Plan(tuple(Step(f"s{at}", "t") for at in range(1000)))
    events: list[Event] = [RunStarted("r", "d", tuple(step.id for step in plan.steps), 0.0)]
    for at in range(1000):
        failure = Failure("tool-error", "broken pipe")
        events.append(StepStarted(f"s{at}", None, 0.0))
        events.append(
            StepFailed("s777", failure, 1, 1.0)
            if at == 777
            else StepSucceeded(f"s{at}", at, 1, None, 1.0)
        )
    text = shown(events, terminal=True, plan=plan)
    assert "broken pipe" in text
    assert "999 succeeded, 1 failed" in text
    assert len(text.splitlines()) < 200


def test_a_step_that_the_plan_does_not_have_changes_nothing() -> None:
    assert shown([StepStarted("zz", None, 1.0)], terminal=False) == "zz: started\n"


BEFORE: tuple[Event, ...] = (
    RunStarted("r1", "digest", ("a", "b", "c", "d"), 100.0),
    StepStarted("a", None, 100.0),
    StepSucceeded("a", 1, 1, None, 100.5),
    StepStarted("b", 3, 100.5),
    StepStarted("c", None, 100.5),
    ItemEnded("b", 0, None, 1, None, 100.6),
    ItemEnded("b", 1, None, 1, None, 100.7),
)


def test_what_a_run_had_done_before_counts_in_its_view() -> None:
    rest = (RunResumed(200.0), StepStarted("b", 3, 200.0), ItemEnded("b", 2, None, 1, None, 200.5))
    text = shown(rest, terminal=True, before=BEFORE)
    last = text.removeprefix("\x1b[?25l").split("\x1b[?25h")[0].split("\x1b[2K")[-1]
    rows = [" ".join(line.split()) for line in last.splitlines() if line.strip()]
    assert rows == [
        "✓ a a_tool succeeded 500 ms",
        "→ b b_tool running 3/3 500 ms",
        "· c c_tool pending",
        "· d d_tool pending",
        "running: 2 pending, 1 running, 1 succeeded",
    ]


def test_there_is_no_view_of_a_run_before_it_resumes() -> None:
    assert shown((), terminal=True, before=BEFORE) == ""


def test_the_first_view_of_a_resumed_run_has_no_steps_of_the_process_before() -> None:
    assert "→" not in shown((RunResumed(200.0),), terminal=True, before=BEFORE)


def test_a_terminal_that_is_left_to_somebody_has_no_view_until_it_is_given_back() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=100, force_terminal=True, color_system=None)
    progress = RunProgress(PLAN, Output(console), before=BEFORE)
    with progress:
        pass
    progress(RunResumed(200.0))
    assert stream.getvalue() == "run: resumed\n"
    with progress:
        pass
    assert "running: 3 pending, 1 succeeded" in stream.getvalue()


def test_elsewhere_what_a_run_had_done_before_is_not_shown() -> None:
    rest = (RunResumed(200.0), StepStarted("c", None, 200.0))
    reported = shown(rest, terminal=False, before=BEFORE)
    assert reported.splitlines() == ["run: resumed", "c: started"]
