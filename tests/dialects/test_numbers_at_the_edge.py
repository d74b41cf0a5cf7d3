"""A number that a double keeps is read as it stands, up to the greatest."""

import sys

import pytest

from toolplan.compiler import parse
from toolplan.plan.model import Literal


@pytest.mark.parametrize(
    "number", [1.7000000000000001e308, -1.7000000000000001e308, sys.float_info.max, 5e-324]
)
def test_the_greatest_numbers_are_read_as_they_stand(number: float) -> None:
    text = f'{{"toolplan": 1, "steps": [{{"id": "a", "tool": "t", "args": {{"x": {number!r}}}}}]}}'
    plan = parse(text).plan
    assert plan is not None
    assert plan.steps[0].args == {"x": Literal(number)}
