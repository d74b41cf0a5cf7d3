"""Diagnostics with the place in the source underlined."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.render.screens import on_console
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.text.loose import Span
from toolplan.plan.text.places import locate
from toolplan.show.console import Rendered
from toolplan.show.diagnostics import (
    DiagnosticView,
    Located,
    count_text,
    diagnostic_text,
    diagnostics_text,
    pointer_text,
)
from toolplan.show.printable import text_width

SOURCE = """{
  "steps": [
    {"id": "a", "tool": "book_list", "args": {"city": "[red]東京\x1b"}}
  ]
}"""

UNKNOWN = Diagnostic(
    "unknown-tool",
    Severity.ERROR,
    "There is no tool 'book_list'.",
    "a",
    "/steps/0/tool",
    "Did you mean 'books_list'?",
)


def test_a_diagnostic_shows_its_place_underlined() -> None:
    text = diagnostic_text(UNKNOWN, SOURCE, locate(SOURCE, UNKNOWN.pointer))
    assert text.splitlines() == [
        "error[unknown-tool] steps[0].tool: There is no tool 'book_list'.",
        " --> plan:3:25",
        "  |",
        '3 |     {"id": "a", "tool": "book_list", "args": {"city": "[red]東京\\x1b"}}',
        "  |                         ^^^^^^^^^^^",
        "  help: Did you mean 'books_list'?",
    ]


def test_without_source_the_pointer_names_the_place() -> None:
    warning = Diagnostic("unused-step", Severity.WARNING, "Nothing uses 'a'.", fixed=True)
    assert diagnostic_text(warning) == "warning[unused-step]: Nothing uses 'a'. (auto-fix)"


def test_the_underline_fits_wide_and_control_characters() -> None:
    span = locate(SOURCE, "/steps/0/args/city")
    lines = diagnostic_text(UNKNOWN, SOURCE, span).splitlines()
    shown = '"[red]東京\\x1b"'
    assert text_width(lines[3][: lines[3].index(shown)]) == lines[4].index("^")
    assert lines[4].count("^") == text_width(shown)


def test_tabs_and_places_over_several_lines() -> None:
    source = '\t{"a": [\n1,\n2]}'
    lines = diagnostic_text(UNKNOWN, source, locate(source, "/a")).splitlines()
    assert lines[3:5] == ['1 |     {"a": [', "  |           ^"]


@pytest.mark.parametrize("before", [0, 50, 5_000])
@pytest.mark.parametrize("after", [0, 50, 5_000])
@pytest.mark.parametrize("marked", [1, 30, 500])
def test_wide_lines_are_cut_round_the_place(before: int, after: int, marked: int) -> None:
    source = "x" * before + "M" * marked + "y" * after
    lines = diagnostic_text(UNKNOWN, source, Span(before, before + marked)).splitlines()
    assert max(map(len, lines)) <= 100
    caret = lines[4].index("^")
    assert lines[3][caret] == "M"
    assert caret == 4 or lines[3][caret - 1] in "x…"
    assert set(lines[3][caret : lines[4].rindex("^") + 1]) == {"M"}


def test_all_are_shown_and_counted() -> None:
    fixed = Diagnostic("argument-type", Severity.ERROR, "No.", fixed=True)
    warning = Diagnostic("unused-step", Severity.WARNING, "Hm.")
    text = diagnostics_text([Located(UNKNOWN), Located(fixed), Located(warning)])
    assert text.splitlines()[-1] == "2 errors, 1 of them with an auto-fix; 1 warning."
    assert count_text([]) == "no problems"


def test_messages_reach_a_console_literally() -> None:
    loud = Diagnostic("x", Severity.ERROR, "There is no tool '[red]\x1b[2Jx[/red]'.")
    shown = on_console(DiagnosticView((Located(loud, Span(0, 1)),), "ä…"), encoding="ascii")
    assert "error[x]: There is no tool '[red]\\x1b[2Jx[/red]'." in shown
    assert "1 | \\xe4..." in shown


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", ""),
        ("/steps/0/args/facility~1id", 'steps[0].args["facility/id"]'),
        ("/output", "output"),
        ("/steps/99999999999", 'steps["99999999999"]'),
    ],
)
def test_pointers_are_shown_as_people_write_places(pointer: str, place: str) -> None:
    assert pointer_text(pointer) == place


@given(st.text(alphabet="ab \t\n{\x1b東", max_size=300), st.data())
def test_any_span_of_any_text_can_be_underlined(source: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(-1, len(source) + 2))
    end = data.draw(st.integers(-1, len(source) + 2))
    lines = diagnostic_text(UNKNOWN, source, Span(start, end)).splitlines()
    assert len(lines) == 6
    assert "^" in lines[4]
    assert max(map(text_width, lines)) <= 100


@pytest.mark.parametrize(
    ("severity", "fixed", "colour"),
    [
        (Severity.ERROR, False, "31"),  # red
        (Severity.WARNING, False, "33"),  # yellow
        (Severity.ERROR, True, "32"),  # green
        (Severity.WARNING, True, "32"),
    ],
)
def test_a_severity_has_its_colour(severity: Severity, fixed: bool, colour: str) -> None:
    problem = Diagnostic("x", severity, "No.", fixed=fixed)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", width=80)
    console.print(Rendered(DiagnosticView((Located(problem, Span(0, 1)),), "abc")))
    head, *_, underline, _, _ = stream.getvalue().splitlines()
    assert f"\x1b[1;{colour}m{severity.value}[x]" in head
    assert f"\x1b[1;{colour}m^" in underline
