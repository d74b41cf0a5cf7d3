"""A forecast in one line, and what a run took beside it."""

from msgspec.structs import replace

from toolplan.forecast import Forecast
from toolplan.render.printable import fit_encoding
from toolplan.render.runs_view import compared_text, forecast_text

KNOWN = Forecast(1.2, 2.0, ("a", "b", "c"), 14, 14, 3, past_calls=50)


def test_times_calls_and_the_longest_way_stand_in_one_line() -> None:
    assert forecast_text(KNOWN) == (
        "about 1.2 s, p90 2.0 s; 14 calls, 3 with effects; critical path a > b > c"
    )


def test_nothing_is_said_twice_or_for_nothing() -> None:
    found = Forecast(0.0121, 0.0123, ("a",), 1, 1, 0, past_calls=10)
    assert forecast_text(found) == "about 12 ms; 1 call"


def test_calls_that_depend_on_data_have_two_bounds() -> None:
    assert "; 2 to 14 calls, at most 3 with effects;" in forecast_text(
        replace(KNOWN, calls_least=2)
    )
    found = replace(KNOWN, calls_least=0, calls_most=12_000, effect_calls_most=0)
    assert "; at most 12,000 calls;" in forecast_text(found)


def test_a_lower_bound_is_called_one_and_says_of_which_tools_nothing_is_known() -> None:
    found = replace(KNOWN, unknown_tools=("send",))
    assert forecast_text(found).startswith("at least 1.2 s (no past calls of send); 14 calls")
    several = replace(KNOWN, unknown_tools=("one", "two", "three", "four"))
    assert "(no past calls of one, two and 2 others)" in forecast_text(several)
    assert "(no past calls of one, two and three)" in forecast_text(
        replace(KNOWN, unknown_tools=("one", "two", "three"))
    )


def test_few_past_calls_speak_for_no_share_of_runs() -> None:
    found = replace(KNOWN, past_calls=9)
    assert forecast_text(found).startswith("about 1.2 s, by few past calls; 14 calls")


def test_items_that_are_not_counted_are_a_condition() -> None:
    found = replace(KNOWN, unknown_counts=("rows",))
    assert forecast_text(found).startswith("about 1.2 s, p90 2.0 s (if rows has one item); ")
    both = replace(KNOWN, unknown_counts=("rows", "sums"), unknown_tools=("send",))
    assert "(no past calls of send; if rows and sums have one item each)" in forecast_text(both)


def test_nothing_is_said_of_time_where_nothing_is_known_of_any_tool() -> None:
    found = Forecast(0.0, 0.0, ("a", "b"), 2, 2, 1, ("t", "u"))
    assert forecast_text(found) == "2 calls, 1 with effects"
    assert compared_text(found, 1.4) == "took 1.4 s"


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
