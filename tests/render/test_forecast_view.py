"""A forecast in one line, and what a run took beside it."""

from typing import Any

import pytest
from msgspec.structs import replace

from toolplan.engine.forecast import Forecast
from toolplan.show.printable import fit_encoding
from toolplan.show.runs_view import compared_text, forecast_text

KNOWN = Forecast(1.2, 2.0, ("a", "b", "c"), 14, 14, 3, past_calls=50)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "about 1.2 s, p90 2.0 s; 14 calls, 3 with effects; critical path a > b > c"),
        ({"calls_least": 2}, "; 2 to 14 calls, at most 3 with effects;"),
        (
            {"calls_least": 0, "calls_most": 12_000, "effect_calls_most": 0},
            "; at most 12,000 calls;",
        ),
        ({"unknown_tools": ("send",)}, "at least 1.2 s (no past calls of send); 14 calls"),
        ({"unknown_tools": ("a", "b", "c", "d")}, "(no past calls of a, b and 2 others)"),
        ({"unknown_tools": ("a", "b", "c")}, "(no past calls of a, b and c)"),
        ({"past_calls": 9}, "about 1.2 s, by few past calls; 14 calls"),
        ({"unknown_counts": ("rows",)}, "about 1.2 s, p90 2.0 s (if rows has one item); "),
        (
            {"unknown_counts": ("rows", "sums"), "unknown_tools": ("send",)},
            "(no past calls of send; if rows and sums have one item each)",
        ),
    ],
)
def test_times_calls_and_the_longest_way_are_one_line(changes: dict[str, Any], text: str) -> None:
    assert text in forecast_text(replace(KNOWN, **changes))


def test_nothing_is_said_twice_or_for_nothing() -> None:
    found = Forecast(0.0121, 0.0123, ("a",), 1, 1, 0, past_calls=10)
    assert forecast_text(found) == "about 12 ms; 1 call"
    unknown = Forecast(0.0, 0.0, ("a", "b"), 2, 2, 1, ("t", "u"))
    assert forecast_text(unknown) == "2 calls, 1 with effects"
    assert compared_text(unknown, 1.4) == "took 1.4 s"


def test_a_long_way_is_shown_by_its_ends() -> None:
    found = replace(KNOWN, critical_path=tuple("abcdefgh"))
    assert forecast_text(found).endswith("critical path a > b > c > … > g > h")
    assert fit_encoding(forecast_text(found), "ascii").endswith("c > ... > g > h")


def test_names_cannot_steer_a_terminal() -> None:
    found = replace(KNOWN, unknown_tools=("\x1b[2J\n" + "x" * 100,))
    text = forecast_text(found)
    assert "\x1b" not in text
    assert "\n" not in text
    assert "x" * 50 not in text


def test_what_a_run_took_stands_beside_what_was_expected() -> None:
    assert compared_text(KNOWN, 1.4) == "took 1.4 s; about 1.2 s were expected"
    found = replace(KNOWN, unknown_tools=("send",))
    assert compared_text(found, 125) == "took 2 min 5 s; at least 1.2 s were expected"
