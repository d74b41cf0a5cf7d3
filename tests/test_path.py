"""Paths: parsed, printed, and read through values (F000-16, F000-17, F002-11)."""

import pytest
from hypothesis import given, settings

from tests.dialects.strategies import JSON, PATHS
from toolplan.plan.path import (
    EVERY,
    Json,
    NotThere,
    Path,
    PathSyntaxError,
    parse_path,
    parse_segments,
    print_path,
    select,
)

SHIPMENTS: Json = {
    "data": [
        {"id": "S1", "facility": {"id": "F1"}},
        {"id": "S2", "facility": {"id": "F2"}},
        {"id": "S3", "facility": {"id": "F1"}},
    ],
    "count": 3,
    "groups": [[1, 2], [], [3]],
}


@settings(deadline=None, max_examples=100)
@given(PATHS)
def test_a_printed_path_reads_back(path: Path) -> None:
    assert parse_path(print_path(path)) == path


@pytest.mark.parametrize(
    ("text", "path", "printed"),
    [
        ("", (), ""),
        (".a.b", ("a", "b"), ".a.b"),
        (".items[0].name", ("items", 0, "name"), ".items[0].name"),
        (".items.0.name", ("items", 0, "name"), ".items[0].name"),
        (".transactions.[0].sender", ("transactions", 0, "sender"), ".transactions[0].sender"),
        ('.data["user"].name', ("data", "user", "name"), ".data.user.name"),
        (".data['full name']", ("data", "full name"), '.data["full name"]'),
        (".data.*.id", ("data", EVERY, "id"), ".data[*].id"),
        (".facility-id", ("facility-id",), '["facility-id"]'),
        ('["0"]', ("0",), '["0"]'),
        (".größe", ("größe",), ".größe"),
        ('["a}\\u0024"]', ("a}$",), '["a\\u007d\\u0024"]'),
    ],
)
def test_f002_11_every_spelling_has_one_canonical_one(text: str, path: Path, printed: str) -> None:
    assert parse_path(text) == path
    assert print_path(path) == printed


@pytest.mark.parametrize(
    "text",
    [".", "a", ".a.", "[", "[]", "[-1]", "[01]", "[1", '["a', '["a"', "[a]", "..a", ".a b", "[*",
     "[9999999999]", "[1.5]", "[0:1]", "[?(@)]"],
)  # fmt: skip
def test_p33_what_is_no_path_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(PathSyntaxError) as caught:
        parse_path(text)
    assert 0 <= caught.value.offset <= len(text)


def test_segments_end_where_something_else_begins() -> None:
    assert parse_segments(".a[0]} and .b") == (("a", 0), 5)


def test_p32_dunder_names_are_keys_like_any_other() -> None:
    path = parse_path(".__class__.__mro__")
    assert path == ("__class__", "__mro__")
    with pytest.raises(NotThere):
        select({}, path)
    assert select({"__class__": {"__mro__": 1}}, path) == 1


def test_f000_17_a_wildcard_gives_a_flat_list_in_order_with_duplicates() -> None:
    assert select(SHIPMENTS, parse_path(".data.*.id")) == ["S1", "S2", "S3"]
    assert select(SHIPMENTS, parse_path(".data.*.facility.id")) == ["F1", "F2", "F1"]
    assert select(SHIPMENTS, parse_path(".groups[*][*]")) == [1, 2, 3]
    assert select(SHIPMENTS, parse_path(".groups[*]")) == [[1, 2], [], [3]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".data[3]", ".data has 3 element(s), none at index 3"),
        (".nothing", "the output has no key 'nothing'"),
        (".count.x", ".count is a number, not an object"),
        (".count[*]", ".count is a number, not a list"),
        (".data.id", ".data is a list, not an object"),
        (".data[*].x", ".data[*] has no key 'x'"),
        (".data[*].id.x", ".data[*].id is a string, not an object"),
        ("[0]", "the output is an object, not a list"),
    ],
)
def test_what_is_not_there_is_said_with_where_the_way_ends(text: str, said: str) -> None:
    with pytest.raises(NotThere, match=r".*") as caught:
        select(SHIPMENTS, parse_path(text))
    assert str(caught.value) == said


@settings(deadline=None, max_examples=100)
@given(JSON, PATHS)
def test_selecting_gives_a_value_or_says_that_it_is_not_there(value: Json, path: Path) -> None:
    try:
        select(value, path)
    except NotThere as error:
        found = str(error)
    else:
        found = "found"
    assert found
