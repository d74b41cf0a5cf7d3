"""The keys of stored plans."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planners.planned import demo
from toolplan.planners import Draft, Question
from toolplan.planners.cache import CachedPlanner, normalised
from toolplan.schema.tool import Tool, Toolbox
from toolplan.storage.plan_cache import PlanCache
from toolplan.testing import ScriptedPlanner


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


def _is_found(
    kept: tuple[str, str, str, str], asked: tuple[str, str, str, str], *tools: Toolbox
) -> bool:
    """Return whether a plan stored under one name, version, day and text is found under another."""
    cache = PlanCache()
    one, other = (
        CachedPlanner(ScriptedPlanner("{}"), cache, name=name, version=version)
        for name, version, _, _ in (kept, asked)
    )
    one.keep(Question(kept[3], kept[2]), tools[0], Draft("{}"))
    return other.recall(Question(asked[3], asked[2]), tools[-1]) is not None


def test_every_part_of_a_key_counts() -> None:
    parts = [
        ("a", "", "2025-10-12", "q"),
        ("b", "", "2025-10-12", "q"),
        ("a", "b", "2025-10-12", "q"),
        ("ab", "", "2025-10-12", "q"),
        ("b", "a", "2025-10-12", "q"),
        ("a", "", "2025-10-13", "q"),
        ("a", "", "2025-10-12", "r"),
    ]
    tools = demo()
    for kept, asked in product(parts, repeat=2):
        assert _is_found(kept, asked, tools) == (kept == asked)


def test_the_order_of_tools_does_not_count_and_that_of_arguments_does() -> None:
    """Dialects with positional arguments read them in their declared order."""
    asked = ("a", "", "2025-10-12", "q")
    assert _is_found(asked, asked, demo(), Toolbox(reversed(list(demo().values()))))
    first: dict[str, object] = {"a": {"type": "string"}, "b": {"type": "string"}}
    then = dict(reversed(list(first.items())))
    one, other = (
        Toolbox([Tool.from_json({"name": "t", "input_schema": {"properties": properties}})])
        for properties in (first, then)
    )
    assert not _is_found(asked, asked, one, other)
