"""A number that a double keeps is read as it stands, up to the greatest."""

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolplan.compiler import parse
from toolplan.plan.model import Literal
from toolplan.plan.text.loose import is_bad_number


@pytest.mark.parametrize(
    "number", [1.7000000000000001e308, -1.7000000000000001e308, sys.float_info.max, 5e-324]
)
def test_the_greatest_numbers_are_read_as_they_stand(number: float) -> None:
    text = f'{{"toolplan": 1, "steps": [{{"id": "a", "tool": "t", "args": {{"x": {number!r}}}}}]}}'
    plan = parse(text).plan
    assert plan is not None
    assert plan.steps[0].args == {"x": Literal(number)}


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-24)  # halfway between two numbers of 16 digits
@example(2.0**-1017)
def test_a_number_that_python_prints_is_exact(number: float) -> None:
    assert not is_bad_number(repr(number))
