"""The list of slow tests names tests that there are."""

import re
from pathlib import Path

import pytest

from tests.slow import slow_tests

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(slow_tests()))
def test_each_slow_test_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text("utf-8")
    assert re.search(rf"def {re.escape(function)}\b", text), "measure them again: tests/slow.py"
