"""Places in text: the second scan, made only when a diagnostic is shown."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.strategies import JSON
from toolplan.plan.model import escape_pointer, join_pointer
from toolplan.plan.path import Json
from toolplan.plan.text.loose import Reader, Refused, Span
from toolplan.plan.text.places import line_and_column, locate
from toolplan.plan.text.tokens import Elements

TEXT = """{
  "steps": [
    {"id": "a", "args": {"x/y": [1, "two"], "~": null}},
    {id: 'b', 'to"ol': -1.5e3, /* } */ "args": {}, }, // ]
  ],
  "steps2": true
}"""


def at(pointer: str, text: str = TEXT) -> str | None:
    span = locate(text, pointer)
    return None if span is None else text[span.start : span.end]


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", TEXT),
        ("/steps/0/id", '"a"'),
        ("/steps/0/args/x~1y/1", '"two"'),
        ("/steps/0/args/~0", "null"),
        ("/steps/1/id", "'b'"),
        ('/steps/1/to"ol', "-1.5e3"),
        ("/steps/1/args", "{}"),
        ("/steps2", "true"),
        ("/steps/0/args/x~1y", '[1, "two"]'),
    ],
)
def test_a_pointer_leads_to_its_value(pointer: str, found: str) -> None:
    assert at(pointer) == found


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/steps/0/tool", "{"),
        ("/steps/0/args/z", '"args"'),
        ("/steps/9", '"steps"'),
        ("/steps/1/id/deeper/still", "id"),
        ("/none", "{"),
    ],
)
def test_what_is_missing_leads_to_the_key_of_what_is_around_it(pointer: str, found: str) -> None:
    assert at(pointer) == found


def test_text_without_json_has_no_places() -> None:
    assert locate("", "/a") is None
    assert locate("prose, no braces", "/a") is None
    assert locate("  5 ", "") == Span(2, 3)
    assert locate("", "") is None


def test_text_that_ends_early_has_the_places_of_what_is_there() -> None:
    assert at("/a/1", '{"a": [1, 22') == "22"
    assert at("/a", '{"a": [1, 22  ') == "[1, 22"
    assert at("/a", '{"a": "x') == '"x'


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    assert at("/a", '{"a": 1, "a": 2}') == "2"


@pytest.mark.parametrize("key", ['"it\'s"', "'it\\'s'", '"it\\u0027s"'])
def test_a_key_has_its_place_however_it_is_quoted(key: str) -> None:
    assert at("/it's", f"{{'a': 1, {key}: 2}}") == "2"


def test_lines_and_columns_count_from_one() -> None:
    assert line_and_column("ab\ncd", 0) == (1, 1)
    assert line_and_column("ab\ncd", 2) == (1, 3)
    assert line_and_column("ab\ncd", 3) == (2, 1)
    assert line_and_column("ab\n\n", 4) == (3, 1)


def flaws(text: str) -> list[tuple[str, str]]:
    """Return the code and the pointer of each flaw of the value in `text`."""
    reader = Reader(text)
    reader.read()
    return [(each.code, join_pointer(each.way)) for each in reader.flaws]


def test_p06_all_duplicate_keys_are_found() -> None:
    text = '{"a": 1, "b": [{"x": 1, x: 2}, {"x": 3}], "a": {"c": 1, "\\u0063": {}}, "d": {"c": 1}}'
    found = [("duplicate-key", "/b/0/x"), ("duplicate-key", "/a"), ("duplicate-key", "/a/c")]
    assert flaws(text) == found
    assert len(flaws('{"a":1' + ',"a":1' * 500 + "}")) == 500
    assert len(flaws('{"a":1' + ',"a":1' * 5_000 + "}")) == 1_000


def test_bad_numbers_and_characters_are_found_with_their_pointers() -> None:
    text = '{"a": [NaN, "NaN", 1], "NaN": {NaN: NaN, "x": "\\u0000"}}'
    assert flaws(text) == [
        ("bad-number", "/a/0"), ("bad-number", "/NaN/NaN"), ("bad-encoding", "/NaN/x"),
    ]  # fmt: skip


def read_or_refuse(text: str) -> None:
    """Read `text`; where it is refused, its place is in the text."""
    at = 0
    try:
        Reader(text).read()
    except (Refused, RecursionError) as refused:
        at = getattr(refused, "at", 0)
    assert 0 <= at <= len(text)


@settings(deadline=None, max_examples=60)
@given(JSON, st.data())
def test_every_value_of_json_is_found_where_it_stands(value: Json, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()), indent=1)
    pointer = ""
    while isinstance(value, dict | list) and value and data.draw(st.booleans()):
        if isinstance(value, dict):
            key = data.draw(st.sampled_from(sorted(value)))
            pointer, value = f"{pointer}/{escape_pointer(key)}", value[key]
        else:
            index = data.draw(st.integers(0, len(value) - 1))
            pointer, value = f"{pointer}/{index}", value[index]
    found = at(pointer, text)
    assert found is not None
    assert json.loads(found) == value


@settings(deadline=None, max_examples=100)
@given(st.text("{}[]\"':,\\/*#a1 \n", max_size=40), st.text("/a01~", max_size=6))
def test_no_text_makes_the_scan_fail(text: str, pointer: str) -> None:
    span = locate(text, pointer)
    assert span is None or 0 <= span.start <= span.end <= len(text)
    read_or_refuse(text)


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 300_000, '{"' * 500_000])
def test_no_depth_makes_the_scan_fail(text: str) -> None:
    locate(text, "/a/a/a")
    read_or_refuse(text)


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/steps/0/args/x~1y", '"x/y"'),
        ("/steps/1/id", "id"),
        ("/steps/0", "{"),
        ("/steps/9", '"steps"'),
    ],
)
def test_a_pointer_leads_to_its_key(pointer: str, found: str) -> None:
    span = locate(TEXT, pointer, key=True)
    assert span is not None
    assert TEXT[span.start : span.end].startswith(found)


@settings(deadline=None, max_examples=60)
@given(st.lists(JSON), st.integers(1, 30), st.booleans())
def test_elements_are_those_of_the_list_however_the_text_is_cut(
    values: list[Json], size: int, is_inside: bool
) -> None:
    document: Json = {"a": [1, {"b": [2]}], "b": values, "c": [3]} if is_inside else values
    text = "```json\n" + json.dumps(document, indent=1) + "\n```"
    reader = Elements("b" if is_inside else None)
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    found = [json.loads(each) for piece in pieces for each in reader.feed(piece)]
    assert found == values
    assert reader.is_over


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
def test_elements_of_loose_json_are_found(size: int) -> None:
    text = """{'steps': [{a: '}"', /* ] */ "b": "\\\\"}, // ]
        2, "x]", {c: [[1], 2,],}, ], steps: [9]}"""
    reader = Elements("steps")
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    found = [Reader(each).read() for piece in pieces for each in reader.feed(piece)]
    assert found == [{"a": '}"', "b": "\\"}, 2, "x]", {"c": [[1], 2]}]


@settings(deadline=None, max_examples=100)
@given(st.text("{}[]\"':,\\/*#a1 \n", max_size=40), st.integers(1, 5))
def test_no_text_makes_the_reader_of_elements_fail(text: str, size: int) -> None:
    for key in ("a", None):
        reader = Elements(key)
        whole = [each for at in range(0, len(text), size) for each in reader.feed(text[at:][:size])]
        assert whole == Elements(key).feed(text)
