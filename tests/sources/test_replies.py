"""What servers reply as JSON is read exactly or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.plan.exact_json import InexactJson, read_json


@pytest.mark.parametrize(
    "text",
    [
        "1e400",
        "-1e400",
        "1e999999999999999999999",
        "1e-400",
        "-0.1e-999999999999999999999",
        "12345678901234567.89",
        "9007199254740993.0",
        "1234567890123456789.5",
        '{"a": [1, 1e309]}',
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[-Infinity]",
    ],
)
def test_what_no_number_of_64_bits_keeps_is_refused(text: str) -> None:
    with pytest.raises(InexactJson):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0e5", 0.0),
        ("0.000e-400", 0.0),
        ("1E5", 100_000.0),
        ("12.3333333333333333", 12.333333333333334),
        ("12345678901234567890", 12345678901234567890),
        ("12345678901234568.0", 12345678901234568.0),
    ],
)
def test_what_is_kept(text: str, value: float) -> None:
    assert read_json(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_as_programs_write_it(number: float) -> None:
    for text in (repr(number), f"{number:.17e}", f"{number:.30e}"):
        assert read_json(text) == number
