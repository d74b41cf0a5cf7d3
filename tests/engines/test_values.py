"""Values filled from outputs, and results taken over from tools."""

import enum
import json
import math
from collections import OrderedDict
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans_strategy import json_values
from toolplan.engine._values import (
    CONTAINER,
    FIELD,
    Budget,
    ResultUnusable,
    TooLarge,
    filled_output,
    size_of,
    snapshot,
)
from toolplan.engine._values import resolve as resolve_within
from toolplan.plan.model import Array, Literal, Object, Ref, Template, Value
from toolplan.plan.path import EVERY, Json, NotThere

OUTPUTS: dict[str, Json] = {
    "s0": {"data": [{"id": "a", "n": 1}, {"id": "b", "n": 2}], "count": 2, "next": None},
    "s1": None,
    "s2": "Berlin",
    "0": True,
}


def resolve(value: Value, outputs: dict[str, Json], *item_and_index: Any) -> Json:
    return resolve_within(value, outputs, Budget(10_000_000), *item_and_index)


def unusable(result: object, *, depth: int = 64, size: int = 10_000) -> ResultUnusable:
    with pytest.raises(ResultUnusable) as caught:
        snapshot(result, depth=depth, size=size)
    return caught.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Ref("s0", ("count",)), 2),
        (Ref("s0", ("data", EVERY, "id")), ["a", "b"]),
        (Ref("s1"), None),
        (Ref("0"), True),
        (Ref("s0", ("data", 1)), {"id": "b", "n": 2}),
        (Array((Ref("s2"), Literal([1]))), ["Berlin", [1]]),
        (Object((("in", Ref("s2")), ("${s2}", Ref("0")))), {"in": "Berlin", "${s2}": True}),
    ],
)
def test_whole_references_keep_the_type_of_the_value_f002_20(value: Value, expected: Json) -> None:
    filled = resolve(value, OUTPUTS)
    assert filled == expected
    assert type(filled) is type(expected)


def test_a_template_renders_text_as_it_is_and_the_rest_as_compact_json_f002_20() -> None:
    parts = ("in ", Ref("s2"), ": ", Ref("s0", ("data", 0)), Ref("s1"), Ref("0"), "ü")
    assert resolve(Template(parts), OUTPUTS) == 'in Berlin: {"id":"a","n":1}nulltrueü'
    outputs: dict[str, Json] = {"e": {"ü": [1.5, "x"]}}
    assert resolve(Template(("", Ref("e"))), outputs) == '{"ü":[1.5,"x"]}'


@given(json_values, st.text(max_size=5))
def test_what_a_tool_gave_is_never_searched_for_references_c_38(value: Json, text: str) -> None:
    """C-38: one pass over parsed parts; text that looks like a reference is plain data."""
    evil = {"v": value, "t": f"{text}${{s2}} {{1}} $& \\1 %s {{0.x}} ${{s0.data[*].id}}"}
    outputs: dict[str, Json] = {"e": evil, **OUTPUTS}
    assert resolve(Ref("e", ("v",)), outputs) == value
    whole = resolve(Template(("<", Ref("e", ("t",)), "|", Ref("e", ("v",)), ">")), outputs)
    written = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert whole == f"<{evil['t']}|{value if isinstance(value, str) else written}>"


def test_item_and_index_are_there_inside_of_for_each_only() -> None:
    value = Array((Ref("item", ("id",)), Ref("index"), Ref("s2")))
    assert resolve(value, OUTPUTS, {"id": "x"}, 3) == ["x", 3, "Berlin"]
    with pytest.raises(KeyError):
        resolve(Ref("item"), OUTPUTS)


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (Ref("s0", ("next", "id")), "${s0.next.id}: .next is null, not an object."),
        (Ref("s1", ("id",)), "${s1.id}: the output is null, not an object."),
        (Ref("s0", ("data", EVERY, "x")), "${s0.data[*].x}: .data[*] has no key 'x'."),
        (Ref("s0", ("count", EVERY)), "${s0.count[*]}: .count is a number, not a list."),
    ],
)
def test_a_path_that_leads_nowhere_says_which_and_where(ref: Ref, message: str) -> None:
    """C-04: one clear error that names step, path and actual type."""
    with pytest.raises(NotThere) as caught:
        resolve(Template(("x", ref)), OUTPUTS)
    assert str(caught.value) == message


def test_what_is_filled_shares_nothing_with_outputs_or_plan() -> None:
    literal: Json = {"a": [1, {"b": 2}]}
    outputs: dict[str, Json] = {"s": {"rows": [[1], [2]]}}
    filled: Any = resolve(Array((Literal(literal), Ref("s"), Ref("s", ("rows", EVERY)))), outputs)
    filled[0]["a"][1]["b"] = filled[1]["rows"][0][0] = filled[2][1][0] = 99
    assert literal == {"a": [1, {"b": 2}]}
    assert outputs == {"s": {"rows": [[1], [2]]}}


class _Colour(enum.StrEnum):
    RED = "red"


class _Level(enum.IntEnum):
    HIGH = 3


class _Point(NamedTuple):
    x: int
    y: float


def _bytes_of(value: Json) -> int:
    """Count what `size_of` counts, in the plainest way."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return CONTAINER + sum(8 + _bytes_of(each) for each in value)
    if isinstance(value, dict):
        return CONTAINER + sum(FIELD + len(name) + _bytes_of(each) for name, each in value.items())
    return 0


@given(json_values)
def test_a_kept_result_counts_its_size_in_every_form(value: Json) -> None:
    kept = Budget(10_000_000)
    snapshot(value, depth=64, size=10_000_000, kept=kept)
    assert kept.used == size_of(value, 10_000_000) == _bytes_of(value)


@given(json_values)
def test_a_result_is_not_kept_beyond_what_is_left(value: Json) -> None:
    most = _bytes_of(value) - 1
    if most >= 0:
        with pytest.raises(TooLarge):
            snapshot(value, depth=64, size=10_000_000, kept=Budget(most))


@given(json_values)
def test_json_is_taken_over_as_it_is(value: Json) -> None:
    taken = snapshot(value, depth=64, size=10_000)
    assert json.dumps(taken) == json.dumps(value)


def test_what_has_a_json_form_is_brought_into_it() -> None:
    given_: object = OrderedDict(
        [
            ("p", _Point(1, 2.5)),
            ("c", _Colour.RED),
            ("l", _Level.HIGH),
            ("k", {1: "a", None: (True,)}),
        ]
    )
    taken = snapshot(given_, depth=64, size=1000)
    assert taken == {"p": [1, 2.5], "c": "red", "l": 3, "k": {"1": "a", "null": [True]}}
    assert isinstance(taken, dict)
    assert [type(taken["c"]), type(taken["l"]), type(taken)] == [str, int, dict]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (b"x", "bytes"),
        ({1, 2}, "set"),
        (Decimal("1.5"), "Decimal"),
        (object(), "object"),
        ((each for each in ()), "generator"),
        ("\ud800", "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        ({(1, 2): 3}, "tuple"),
        ({1: "a", "1": "b"}, "same"),
        (10**4000, "digits"),
    ],
)
def test_what_has_no_json_form_is_refused_with_its_place(part: object, words: str) -> None:
    error = unusable({"rows": [0, (part,)]})
    assert error.code == "result-type"
    assert words in str(error)
    assert error.pointer.startswith("/rows/1/0")


def test_numbers_beyond_64_bits_stay_exact() -> None:
    assert snapshot([2**53 + 1, -(10**100)], depth=2, size=10) == [2**53 + 1, -(10**100)]


def test_results_that_contain_themselves_or_are_too_much_are_refused() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    assert unusable(cycle).code == "result-type"
    doubled: object = "x"
    for _ in range(60):  # 60 small lists, which as JSON would be 2**60 texts
        doubled = [doubled, doubled]
    assert unusable(doubled).code == "result-too-large"
    assert unusable(["x" * 600, "x" * 600], size=1000).code == "result-too-large"
    assert snapshot([[[1]]], depth=3, size=10) == [[[1]]]
    assert unusable([[[1]]], depth=2).code == "result-type"


def test_reading_a_hostile_subclass_runs_none_of_its_code() -> None:
    class Hostile(dict[str, int]):
        def items(self) -> Any:
            raise AssertionError

        def __iter__(self) -> Any:
            raise AssertionError

        def __len__(self) -> int:
            raise AssertionError

    assert snapshot(Hostile(a=1), depth=1, size=10) == {"a": 1}


def test_the_output_of_a_plan_has_null_where_a_part_is_missing() -> None:
    value = Object(
        (
            ("there", Ref("s2")),
            ("skipped", Array((Ref("s9"), Template(("x", Ref("s9")))))),
            ("rest", Literal(1)),
        )
    )
    filled, wrong = filled_output(value, OUTPUTS)
    assert filled == {"there": "Berlin", "skipped": [None, None], "rest": 1}
    assert wrong is None
    filled, wrong = filled_output(Array((Ref("s2", ("x",)), Ref("s2"))), OUTPUTS)
    assert filled == [None, "Berlin"]
    assert wrong is not None
    assert (wrong.code, wrong.pointer) == ("reference-missing", "/output/0")
