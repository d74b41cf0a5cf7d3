"""No identifier, date or amount is cut or broken, whatever the width of the terminal.

Every identifier here begins with `QX` and ends with `XQ`, so that a part of one is found.
"""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import re
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import toolplan.show
from tests.sizes import share_of
from toolplan import Diagnostic, Effects, Severity, Tool
from toolplan.events import (
    AttemptFailed,
    CallInDoubt,
    Event,
    Failure,
    RunStarted,
    RunState,
    StepFailed,
    StepProgressed,
    StepStarted,
    fold,
)
from toolplan.plan.comparison import compare_plans
from toolplan.plan.model import Array, Literal, Plan, Ref, Step, Template, When
from toolplan.plan.path import EVERY, Json
from toolplan.plan.text.loose import Span
from toolplan.policy import Flow, Label, Need, Source, Trust, Verdict
from toolplan.policy.approval import EffectStep
from toolplan.policy.consent import Effect, Origin
from toolplan.show.approval_view import ApprovalView, EffectsView, FlowsView, doubt_lines
from toolplan.show.console import Output
from toolplan.show.diagnostics import DiagnosticView, Located
from toolplan.show.document import (
    Bullets,
    Document,
    DocumentView,
    Fields,
    Heading,
    Lead,
    Note,
    Prose,
    Table,
    View,
)
from toolplan.show.plan_tree import ComparisonView, PlanTree
from toolplan.show.printable import text_width
from toolplan.show.runs_view import RunProgress, RunsView
from toolplan.show.tools_view import ToolsView, ToolView
from toolplan.storage.journal import RunEntry

WIDTHS = (60, 80, 100, 200)
DRAW = st.DataObject

IDS = st.text("ac019._-", min_size=1, max_size=10).map(lambda text: f"QX{text}XQ")
"""Names of steps and fields."""

VALUES = st.one_of(
    st.text("ac019:/._@-", min_size=1, max_size=36).map(lambda text: f"QX{text}XQ"),
    st.dates().map(lambda day: f"QX{day.isoformat()}XQ"),
    st.datetimes().map(lambda at: f"QX{at.isoformat()}XQ"),
    st.decimals(0, 10**9, places=2).map(lambda number: f"QX{number:,}XQ"),
)
"""Identifiers, dates and amounts; the widest has 40 columns, so that it has room at 60."""

WORDS = st.sampled_from(("the", "shipment", "of", "was rejected,", "weighs", "東京", "–", "kg;"))
SENTENCES = st.lists(st.one_of(VALUES, WORDS), min_size=1, max_size=25).map(" ".join)


def shown(view: View, width: int) -> str:
    file = io.StringIO()
    Output.of(file, width).print(view)
    return file.getvalue()


def assert_whole(text: str, width: int) -> None:
    for line in text.split("\n"):
        assert text_width(line.rstrip()) <= width, line
        rest = re.sub(r"QX[^\sQ]*XQ", "", line)
        assert "QX" not in rest, line
        assert "XQ" not in rest, line


def tables(data: DRAW) -> Document:
    count = data.draw(st.integers(1, 7))
    cells = st.tuples(*[st.one_of(VALUES, SENTENCES)] * count)
    table = Table(
        data.draw(st.tuples(*[IDS] * count)),
        data.draw(st.tuples(*[st.booleans()] * count)),
        tuple(data.draw(st.lists(cells, min_size=1, max_size=3))),
        data.draw(st.tuples(*[st.integers(0, 3)] * count)),
        tuple(data.draw(st.lists(IDS, max_size=9))),
    )
    pairs = st.tuples(st.one_of(IDS, VALUES), st.one_of(VALUES, SENTENCES))
    return (
        Lead(data.draw(SENTENCES)),
        Heading(data.draw(SENTENCES)),
        table,
        Note(data.draw(SENTENCES)),
        Fields(tuple(data.draw(st.lists(pairs, min_size=1, max_size=4)))),
        Bullets(tuple(data.draw(st.lists(SENTENCES, max_size=3)))),
    )


def plans(data: DRAW) -> Plan:
    """Steps that need one another in a chain, with branches."""
    names = data.draw(st.lists(IDS, min_size=1, max_size=9, unique=True))
    steps: list[Step] = []
    for at, name in enumerate(names):
        earlier = data.draw(st.sampled_from(names[:at])) if at else None
        args = {
            data.draw(IDS): Literal(data.draw(SENTENCES)),
            data.draw(IDS): Literal(data.draw(st.lists(VALUES, max_size=9))),
        }
        if earlier is not None:
            ref = Ref(earlier, ("data", EVERY, "id"))
            args |= {"ref": ref, "text": Template((data.draw(SENTENCES), " ", ref, " end"))}
        when = When(Ref(earlier, ("ok",)), {"const": data.draw(VALUES)}) if earlier else None
        steps.append(Step(name, data.draw(IDS), args, when=when))
    notes = data.draw(st.lists(SENTENCES, max_size=2))
    return Plan(tuple(steps), Ref(names[-1]), {"notes": [*notes]})


def tree(data: DRAW) -> View:
    plan = plans(data)
    return PlanTree(plan, {plan.steps[0].id: data.draw(SENTENCES)})


def diagnostics(data: DRAW) -> View:
    values = data.draw(st.lists(VALUES, min_size=1, max_size=12))
    separators = data.draw(st.sampled_from(((",", ":"), None)))
    source = json.dumps({"steps": values}, separators=separators)
    marked = json.dumps(data.draw(st.sampled_from(values)))
    start = source.index(marked)
    found = Diagnostic(
        "argument-value",
        Severity.ERROR,
        data.draw(SENTENCES),
        pointer=f"/steps/0/args/{data.draw(IDS)}",
        help=data.draw(SENTENCES),
    )
    spans = (Span(start, start + len(marked)), None)
    return DiagnosticView(tuple(Located(found, span) for span in spans), source, "plan.json")


def approval(data: DRAW) -> View:
    def step() -> EffectStep:
        text = Literal(data.draw(SENTENCES.filter(str.isascii)))
        listed = Literal(data.draw(st.lists(VALUES, max_size=9)))
        ref = Ref(data.draw(IDS), ("data", EVERY))
        args = {data.draw(IDS): each for each in (text, listed, ref, Array((text, ref)))}
        effects = data.draw(st.sampled_from(Effects))
        each = data.draw(st.sampled_from((None, ref, listed)))
        return EffectStep(
            data.draw(IDS), data.draw(IDS), effects, args, each, When(ref, {"minimum": 5}), 9, False
        )

    return ApprovalView((step(), step()), "0cda34e8459e4316a463a84ebc26e0d3")


def effects(data: DRAW) -> View:
    def origin() -> Origin:
        label = data.draw(st.sampled_from(Trust))
        source = Source(data.draw(IDS), data.draw(IDS), (data.draw(IDS),))
        return Origin(label, "trusted", data.draw(st.booleans()), (data.draw(IDS),), (source,))

    def effect(item: int | None) -> Effect:
        values: tuple[Json, ...] = (
            data.draw(SENTENCES.filter(str.isascii)),
            [*data.draw(st.lists(VALUES, max_size=9))],
        )
        args = {data.draw(IDS): value for value in values}
        origins = {name: origin() for name in args}
        return Effect("mail", item, data.draw(IDS), args, origins, {"/steps/1": origin()}, "0" * 64)

    return EffectsView((effect(0), effect(1)) if data.draw(st.booleans()) else (effect(None),))


def events(data: DRAW) -> tuple[list[str], tuple[Event, ...]]:
    names = data.draw(st.lists(IDS, min_size=3, max_size=5, unique=True))
    failure = Failure("tool-error", data.draw(SENTENCES))
    doubt: dict[str, Json] = {data.draw(IDS): data.draw(VALUES), "text": data.draw(SENTENCES)}
    return names, (
        RunStarted("0cda34e8459e4316a463a84ebc26e0d3", "digest", tuple(names), 100.0),
        *(StepStarted(name, None, 100.0) for name in names),
        StepProgressed(names[0], 2, 10, data.draw(SENTENCES), 100.1),
        AttemptFailed(names[1], None, 1, failure, 100.2),
        StepFailed(names[1], failure, 2, 101.0),
        CallInDoubt(names[2], None, 1, failure, 101.5, "send", doubt),
    )


def progress(names: list[str], happened: tuple[Event, ...], width: int) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    plan = Plan(tuple(Step(name, name) for name in names))
    shows = RunProgress(plan, Output(console), clock=lambda: 102.0)
    for event in happened:
        shows(event)
    return stream.getvalue() + shown(shows.view(), width)


def doubts(data: DRAW) -> View:
    return Prose("\n".join(doubt_lines(fold(events(data)[1]))))


def runs(data: DRAW) -> View:
    lines = data.draw(st.lists(st.tuples(st.sampled_from(RunState), SENTENCES), min_size=1))
    return RunsView(
        [RunEntry("0cda34e8459e4316", 1e9, state, "", said, "", False) for state, said in lines]
    )


def tool(data: DRAW) -> Tool:
    properties: dict[str, Json] = {
        data.draw(IDS): {"type": "string", "enum": [*data.draw(st.lists(VALUES, min_size=1))]}
        for _ in range(3)
    }
    described = data.draw(SENTENCES)
    return Tool(data.draw(VALUES), described, {"type": "object", "properties": properties})


def flows(data: DRAW) -> View:
    def source() -> Source:
        return Source(data.draw(IDS), data.draw(IDS), ("data", EVERY, data.draw(IDS)))

    def flow() -> Flow:
        sources = tuple(source() for _ in range(data.draw(st.integers(0, 4))))
        label = Label(data.draw(st.sampled_from(Trust)), sources)
        pointer = f"/steps/0/args/{data.draw(IDS)}"
        return Flow(data.draw(IDS), pointer, Need(), label, data.draw(st.sampled_from(Verdict)))

    return FlowsView([flow() for _ in range(data.draw(st.integers(1, 3)))])


def comparison(data: DRAW) -> View:
    return ComparisonView(compare_plans(plans(data), plans(data)))


VIEWS: Mapping[type, Callable[[DRAW], View]] = {
    DocumentView: lambda data: DocumentView(tables(data)),
    PlanTree: tree,
    DiagnosticView: diagnostics,
    ApprovalView: approval,
    EffectsView: effects,
    FlowsView: flows,
    RunsView: runs,
    ToolsView: lambda data: ToolsView([tool(data), tool(data)]),
    ToolView: lambda data: ToolView(tool(data)),
    ComparisonView: comparison,
    Prose: doubts,
}


@pytest.mark.parametrize("kind", VIEWS)
@settings(max_examples=share_of(120), deadline=None)
@given(data=st.data())
def test_no_view_cuts_or_breaks_a_value(kind: type, data: DRAW) -> None:
    view = VIEWS[kind](data)
    for width in WIDTHS:
        assert_whole(shown(view, width), width)


@settings(max_examples=share_of(120), deadline=None)
@given(st.data())
def test_no_progress_cuts_or_breaks_a_value(data: DRAW) -> None:
    names, happened = events(data)
    for width in WIDTHS:
        assert_whole(progress(names, happened, width), width)


def test_every_view_is_looked_at() -> None:
    found: set[str] = set()
    for module in pkgutil.iter_modules(toolplan.show.__path__, "toolplan.show."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if (
                isinstance(value, type)
                and callable(vars(value).get("lines"))
                and value.__module__ == module.name
            ):
                found.add(name)
    assert found == {kind.__name__ for kind in VIEWS} | {"ProgressView", "View"}


@pytest.mark.parametrize("kind", VIEWS)
@settings(max_examples=share_of(40), deadline=None)
@given(data=st.data())
def test_a_file_without_a_width_gets_whole_sentences_and_no_style(kind: type, data: DRAW) -> None:
    file = io.StringIO()
    output = Output.of(file)
    output.print(VIEWS[kind](data), style="dim")
    assert "\x1b" not in file.getvalue()
    output.print("a sentence", style="dim")
    output.prompt("Go on? ")
    output.print("word " * 40 + "end")
    assert file.getvalue().endswith("a sentence\nGo on? " + "word " * 40 + "end\n")


def test_an_amount_stays_beside_its_unit() -> None:
    text = "a shipment of 8650 kg costs EUR 20 at 12 % on 2026-10-31 12:30, of 1 362 410 kg."
    for width in range(30, 90):
        lines = shown(Prose(text), width).splitlines()
        assert not any(re.search(r"(\d|EUR)$", line) for line in lines), lines


def test_a_long_argument_says_that_it_is_cut() -> None:
    text = shown(PlanTree(Plan((Step("a", "t", {"x": Literal("word " * 1000)}),))), 80)
    assert text.rstrip().endswith("…")
