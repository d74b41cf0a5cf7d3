"""The report of a dry run."""

import io

from msgspec.structs import replace
from rich.console import Console

from toolplan.app.dry_run.report import (
    CallBounds,
    DryRun,
    EffectBounds,
    Fault,
    MayFail,
    Scenario,
    Unchecked,
    dry_document,
)
from toolplan.events import StepState
from toolplan.schema.tool import Effects
from toolplan.show.console import Rendered
from toolplan.show.document import DocumentView, document_text

DRY = DryRun(
    faults=(
        Fault("b", "reference-missing", "It has no key 'to\x1b[2Jwn'.", "/args/x", "all hold"),
        Fault("", "reference-missing", "There is none.", "/output/1", "none holds"),
    ),
    may_fail=(
        MayFail("d", "not-a-list", "There is\x1b[2J text.", "/for_each", "all hold", ("ro\x1bws",)),
        MayFail("", "reference-missing", "There is none.", "", "none holds", ("rows", "people")),
    ),
    scenarios=(
        Scenario("all hold", {"a": StepState.SUCCEEDED, "b": StepState.FAILED}),
        Scenario("none holds", {"a": StepState.SUCCEEDED, "b": StepState.SKIPPED}),
    ),
    calls={"a": CallBounds(1, 1), "b": CallBounds(0, 12_000)},
    total=CallBounds(1, 12_001),
    limit=10_000,
    effects=(
        EffectBounds("a", "send", Effects.WRITE, CallBounds(1, 1)),
        EffectBounds("b", "drop", Effects.UNKNOWN, CallBounds(0, 12_000)),
    ),
    unchecked=(Unchecked("c", "It needs step 'b'."),),
)
CLEAN = replace(
    DRY,
    faults=(),
    may_fail=(),
    effects=(),
    unchecked=(),
    calls={"a": CallBounds(1, 1)},
    total=CallBounds(1, 1),
)


def test_faults_come_first_then_calls_effects_and_what_was_left_out() -> None:
    assert document_text(dry_document(DRY)).splitlines() == [
        "The dry run found 2 faults; no tool was called.",
        r"• step b at /args/x: It has no key 'to\x1b[2Jwn'. [reference-missing; all hold]",
        "• the output at /output/1: There is none. [reference-missing; none holds]",
        "",
        "May fail",
        r"• with earlier results of ro\x1bws, step d at /for_each fails: There is\x1b[2J text."
        " [not-a-list; all hold]",
        "• with earlier results of rows and people, the output fails: There is none."
        " [reference-missing; none holds]",
        "Other results may work; these are not faults of the plan.",
        "",
        "Calls",
        "step        calls",
        "────  ───────────",
        "a               1",
        "b     0 to 12,000",
        "all   1 to 12,001",
        "A run stops after 10,000 calls.",
        "2 scenarios simulated: all hold; none holds.",
        "",
        "Effects",
        "• a: send, write, 1 call",
        "• b: drop, may change something (undeclared), at most 12,000 calls",
        "",
        "Unchecked",
        "• c: It needs step 'b'.",
    ]


def test_a_plan_without_fault_is_reported_in_a_few_lines() -> None:
    lines = document_text(dry_document(CLEAN)).splitlines()
    assert lines[0] == "The dry run found no fault; no tool was called."
    assert lines[-1] == "The plan changes nothing."
    gap = replace(CLEAN, unchecked=DRY.unchecked)
    first = document_text(dry_document(gap)).splitlines()[0]
    assert first == "The dry run found no fault, 1 step unchecked; no tool was called."
    risky = replace(gap, may_fail=DRY.may_fail)
    first = document_text(dry_document(risky)).splitlines()[0]
    assert first == (
        "The dry run found no fault, 2 possible failures, 1 step unchecked; no tool was called."
    )


def test_a_console_shows_it_and_is_not_steered_by_it() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    Console(file=stream, width=60, color_system=None).print(
        Rendered(DocumentView(dry_document(DRY)))
    )
    stream.flush()
    stream.seek(0)
    text = stream.read()
    assert "\x1b" not in text
    assert text.startswith("The dry run found 2 faults; no tool was called.\n* step b at /args/x")
    assert "0 to 12,000" in text


def test_a_plan_of_thousands_of_steps_is_reported_in_a_page() -> None:
    names = [f"s{at}" for at in range(5_000)]
    large = replace(
        DRY,
        faults=tuple(Fault(name, "code", "x" * 9_000, "", "all") for name in names),
        calls=dict.fromkeys(names, CallBounds(1, 1)),
        unchecked=tuple(Unchecked(name, "It needs step 'a'.") for name in names),
    )
    lines = document_text(dry_document(large)).splitlines()
    assert len(lines) < 200
    assert "• 4950 more" in lines
    assert "4950 steps more, counted in the last row." in lines
    risky = replace(
        CLEAN,
        may_fail=tuple(MayFail(name, "code", "x" * 9_000, "", "all", ("rows",)) for name in names),
    )
    lines = document_text(dry_document(risky)).splitlines()
    assert len(lines) < 100
    assert "• 4950 more" in lines
