"""The keys of stored plans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planners.planned import demo
from toolplan.planners.cache import normalised, question_key, tools_digest
from toolplan.schema.tool import Tool, Toolbox


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Show shipments", "show   shipments "),
        ("SHOW SHIPMENTS", "show shipments"),
        ("show shipments?", "show shipments"),
        ("show shipments ...", "show shipments"),
        ("what’s pending", "what's pending"),
        ("Köln", "Köln"),
        ("up–to–date", "up-to-date"),
        ("show\tall\nshipments", "show all shipments"),
    ],
)
def test_spelling_makes_no_other_question(one: str, other: str) -> None:
    """C-17."""
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shipment S1", "shipment s1"),
        ('carrier "ABC"', 'carrier "abc"'),
        ("shipments to US", "shipments to us"),
        ("over 5 t", "over 5. t"),
        ("over 5² t", "over 52 t"),
        ("½ t", "12 t"),
        ("shipments, facilities", "shipments facilities"),
        ("weight < 5", "weight > 5"),
        ("non-rejected", "non rejected"),
        ("last week", "this week"),
        ("-5", "5"),
    ],
)
def test_what_may_be_meant_otherwise_is_another_question(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


def test_every_part_of_a_key_counts() -> None:
    keys = {
        question_key(["a"], "2025-10-12", "q"),
        question_key(["b"], "2025-10-12", "q"),
        question_key(["a", "b"], "2025-10-12", "q"),
        question_key(["ab", ""], "2025-10-12", "q"),
        question_key(["b", "a"], "2025-10-12", "q"),
        question_key(["a"], "2025-10-13", "q"),
        question_key(["a"], "2025-10-12", "r"),
    }
    assert len(keys) == 7


def test_the_order_of_tools_does_not_count_and_that_of_arguments_does() -> None:
    """Dialects with positional arguments read them in their declared order."""
    assert tools_digest(demo()) == tools_digest(Toolbox(reversed(list(demo().values()))))
    first: dict[str, object] = {"a": {"type": "string"}, "b": {"type": "string"}}
    then = dict(reversed(list(first.items())))
    one, other = (
        Toolbox([Tool.from_json({"name": "t", "input_schema": {"properties": properties}})])
        for properties in (first, then)
    )
    assert tools_digest(one) != tools_digest(other)
