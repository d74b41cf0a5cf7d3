"""Text that is safe to show."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.plan.model import Array, Literal, Object, Ref, Template
from toolplan.plan.path import EVERY, Json
from toolplan.show.printable import (
    cell,
    cut,
    fit_encoding,
    number_text,
    padded,
    printable,
    text_width,
    value_text,
)


@given(st.text())
def test_printable_text_is_one_line_that_steers_nothing(text: str) -> None:
    shown = printable(text)
    bad = {"Cc", "Cs", "Zl", "Zp"}
    assert not any(unicodedata.category(char) in bad for char in shown)
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("  many \t\n lines ", "many lines"),
        ("half \ud800", "half \\ud800"),
        ("👩\u200d🔬 東京 é", "👩\u200d🔬 東京 é"),
        ("[red]markup", "[red]markup"),
    ],
)
def test_what_steers_a_terminal_becomes_visible_r17(raw: str, shown: str) -> None:
    assert printable(raw) == shown


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_cut_text_fits(text: str, width: int) -> None:
    assert text_width(cut(printable(text), width)) <= width


@given(st.floats() | st.integers(), st.booleans())
def test_numbers_have_neither_noise_nor_names(number: float, grouped: bool) -> None:
    text = number_text(number, grouped=grouped)
    assert "nan" not in text
    assert "inf" not in text
    if abs(number) < 1e308 and not isinstance(number, int):
        assert float(text.replace(",", "")) == pytest.approx(number, rel=1e-3)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.3333"),
        (100.0, "100"),
        (-0.0, "0"),
        (2025, "2025"),
        (12345, "12,345"),
        (12345.678, "12,345.678"),
        (1e22, "1e+22"),
        (2**60, f"{2**60:,}"),
        (math.nan, "–"),
        (-math.inf, "–"),
    ],
)
def test_numbers_are_readable(number: float, text: str) -> None:
    assert number_text(number, grouped=True) == text


def test_a_number_that_python_refuses_to_print_is_described() -> None:
    assert number_text(10**5000) == "a number of 16610 bits"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "true"),
        (12345678, "12345678"),
        ("a\nb", "a b"),
        ([], ""),
        (["a", 1, None], "a, 1, –"),
        ({"a": [1, {"b": None}]}, '{"a": [1, {"b": null}]}'),
        ([{"a": math.nan}], '[{"a": –}]'),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 39 + "…"),
        ("to S20261031-010 and S20261031-009 of Ann", "to S20261031-010 and S20261031-009 of …"),
    ],
)
def test_any_value_is_one_short_cell(value: Json, text: str) -> None:
    assert cell(value) == text


def test_a_huge_value_is_not_written_out_to_be_cut() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert cell(deep) == "[" * 39 + "…"
    row: Json = [*range(1000)]
    assert value_text([row, *row], 20) == "[[0, 1, 2, 3, 4, 5,…"


def test_values_of_a_plan_show_references_as_they_are_written() -> None:
    ref = Ref("s0", ("data", EVERY, "full name"))
    value = Object((("a", ref), ("b", Array((Literal(1), Template(("${x}  of ", Ref("s1"))))))))
    assert value_text(value, 200) == (
        '{"a": ${s0.data[*]["full name"]}, "b": [1, "$${x}  of ${s1}"]}'
    )


def test_wide_characters_take_two_columns() -> None:
    assert text_width("東京") == 4
    assert padded("東", 4) == "東  "
    assert padded("7", 3, right=True) == "  7"
    assert cut("東京都", 4) == "東…"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "no-such-encoding"])
def test_any_terminal_can_show_the_text_c12(encoding: str) -> None:
    shown = fit_encoding("├── Köln → 東京 …\n", encoding)
    shown.encode("ascii" if encoding.startswith("no") else encoding)
    assert shown.endswith("\n")
