"""What a result says about the rest, and lists made of pages."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.paging.apis import APIS, Api
from toolplan.plan.path import Json
from toolplan.schema.paging import PageError, Pager, Paging, Verdict, next_link, page_of, paging_of
from toolplan.schema.paging import verdict_on as verdict


def rows_of(count: int) -> list[Json]:
    """Return `count` different rows."""
    return [{"id": at, "owner": f"o{at % 7}", "hours": at} for at in range(count)]


def arguments(api: Api, limit: int | None, paging: Paging | None) -> dict[str, Json] | None:
    """Return arguments of a call, with `limit` if the tool takes it; None where it does not."""
    args: dict[str, Json] = {}
    properties, needed = api.input_schema["properties"], api.input_schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(needed, list)
    for name, node in properties.items():
        if name in needed and isinstance(node, dict):
            number = 10 if name == "limit" else 0
            args[name] = number if node["type"] == "integer" else "x"
    if limit is None:
        return args
    if paging is None or paging.limit is None or limit > (paging.limit.most or limit):
        return None
    return paging.limit.put(args, limit)


def whole(api: Api, pager: Pager, data: list[Json]) -> Json:
    """Return the list of all pages."""
    while not pager.complete:
        for page in list(pager.waiting):
            pager.take(page, api.answer(pager.args_of(page), data))
    return pager.result()


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@pytest.mark.parametrize("has_schema", [True, False], ids=["schema", "bare"])
def test_a_part_is_never_taken_for_the_whole(api: Api, has_schema: bool) -> None:
    paging = paging_of(api.input_schema, api.output_schema if has_schema else None)
    sizes = (0, 1, api.size - 1, api.size, api.size + 1, 3 * api.size + 7)
    for count in (each for each in sizes if each < 400):
        data = rows_of(count)
        for limit in (None, 7, api.cap, 3 * api.cap):
            args = arguments(api, limit, paging)
            if args is None:
                continue
            page = page_of(api.answer(args, data), paging)
            if (page.rows or 0) < count:
                assert verdict(page, paging, args).more is not False
            if paging is None or not paging.can_page:
                continue
            pager = Pager(paging, args, 1000)
            found = page_of(whole(api, pager, data), paging).rows or 0
            assert found == count or pager.more.more is not False
            if has_schema and count and paging.knows_result and paging.facts.shows_end:
                assert found == count


def test_nearly_all_tools_can_be_paged() -> None:
    found = [paging_of(api.input_schema, api.output_schema) for api in APIS]
    assert sum(each is not None and each.can_page for each in found) >= 120


_NUMBERED: Json = {
    "type": "object",
    "properties": {"page": {"type": "integer"}, "per_page": {"type": "integer"}},
}


def numbered(output: Json = None) -> Paging:
    """Return the paging of a tool with numbered pages."""
    paging = paging_of(_NUMBERED, output)
    assert paging is not None
    return paging


def test_pages_of_a_known_total_are_asked_for_together() -> None:
    pager = Pager(numbered(), {"per_page": 10}, 100)
    pager.take(0, {"items": rows_of(10), "total": 35})
    assert pager.waiting == [1, 2, 3]
    assert [pager.args_of(each)["page"] for each in pager.waiting] == [2, 3, 4]


def test_results_may_come_in_any_order() -> None:
    pager, data = Pager(numbered(), {"per_page": 10}, 100), rows_of(35)
    pager.take(0, {"items": data[:10], "total": 35})
    for page in (3, 1, 2):
        pager.take(page, {"items": data[page * 10 : page * 10 + 10], "total": 35})
    assert pager.complete
    assert pager.result() == {"items": data, "total": 35}


def test_a_bound_on_pages_is_reported() -> None:
    pager = Pager(numbered(), {"per_page": 10}, 2)
    pager.take(0, {"items": rows_of(10), "total": 35})
    pager.take(1, {"items": rows_of(20)[10:], "total": 35})
    assert pager.complete
    assert pager.more == Verdict(True, "max-pages")


def test_a_total_that_is_too_large_ends_with_an_empty_page() -> None:
    pager, calls = Pager(numbered(), {}, 100), 0
    data = rows_of(25)
    while not pager.complete:
        page = pager.waiting[0]
        pager.take(page, {"items": data[page * 10 : page * 10 + 10], "total": 31})
        calls += 1
    assert calls == 4
    assert pager.more == Verdict(True, "total")


def test_a_cursor_that_comes_twice_is_an_error() -> None:
    paging = paging_of({"type": "object", "properties": {"cursor": {"type": "string"}}})
    assert paging is not None
    pager = Pager(paging, {}, 100)
    pager.take(0, {"items": rows_of(2), "next_cursor": "a"})
    pager.take(1, {"items": rows_of(4)[2:], "next_cursor": "b"})
    with pytest.raises(PageError, match="twice") as raised:
        pager.take(2, {"items": rows_of(6)[4:], "next_cursor": "a"})
    assert raised.value.code == "pages-repeat"


def test_a_page_that_repeats_the_one_before_is_an_error() -> None:
    pager = Pager(numbered(), {}, 100)
    pager.take(0, rows_of(10))
    with pytest.raises(PageError, match="once more"):
        pager.take(1, rows_of(10))


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        (rows_of(10), {"message": "slow down"}, "not a list"),
        ({"items": rows_of(10)}, {"message": "slow down"}, "no list of rows"),
        ({"items": rows_of(10)}, {"items": None, "error": "slow down"}, "no list of rows"),
        ({"items": rows_of(10)}, "slow down", "no list of rows"),
    ],
)
def test_a_page_of_another_shape_is_an_error(first: Json, other: Json, said: str) -> None:
    pager = Pager(numbered(), {}, 100)
    pager.take(0, first)
    with pytest.raises(PageError, match=said):
        pager.take(1, other)


@pytest.mark.parametrize("last", [{}, None, {"items": None}, {"kind": "list"}])
def test_a_last_page_may_leave_its_list_out(last: Json) -> None:
    pager = Pager(numbered(), {}, 100)
    pager.take(0, {"kind": "list", "items": rows_of(10)})
    pager.take(1, last)
    assert pager.complete
    assert pager.more == Verdict(False, "next-page")


def test_rows_of_a_page_without_the_object_of_the_first_are_kept() -> None:
    data = rows_of(15)
    pager = Pager(numbered(), {"per_page": 10}, 100)
    pager.take(0, {"items": data[:10]})
    pager.take(1, data[10:])
    assert pager.result() == {"items": data}


def test_a_link_is_never_followed_but_read() -> None:
    pager = Pager(numbered(), {"per_page": 10}, 100)
    pager.take(0, {"items": rows_of(10), "next": "https://evil.example/?page=7&x=1"})
    assert pager.args_of(1) == {"per_page": 10, "page": 7}


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5_000, "x"])
def test_a_link_to_no_page_number_is_passed_on_as_it_is(number: str) -> None:
    pager = Pager(numbered(), {"per_page": 10}, 100)
    pager.take(0, {"items": rows_of(10), "next": f"/list?page={number}"})
    assert pager.args_of(1)["page"] == number


@pytest.mark.parametrize("has_total", [True, False], ids=["total", "no total"])
@pytest.mark.parametrize(
    ("kind", "start", "is_later"),
    [
        ("page", 1, False), ("page", 2, True), ("offset", 0, False), ("offset", 10, True),
        ("cursor", "", False), ("cursor", "c10", True),
    ],
)  # fmt: skip
def test_pages_from_a_later_one_on_are_said_to_lack_the_first_rows(
    kind: str, start: Json, is_later: bool, has_total: bool
) -> None:
    result: dict[str, Json] = {"items": "$rows", "next_cursor": "$next"}
    if has_total:
        result["total"] = "$total"
    argument = "cursor:s" if kind == "cursor" else f"{kind}:i"
    pages = {"limit": "limit", kind: kind}
    api = Api("x", "y", f"limit:i=10 {argument}", result, pages, 10)
    paging = paging_of(api.input_schema, api.output_schema)
    assert paging is not None
    pager, data = Pager(paging, {kind: start}, 100), rows_of(35)
    found = whole(api, pager, data)
    assert isinstance(found, dict)
    assert found["items"] == data[10 * is_later :]
    sure = Verdict(True, "total") if kind == "cursor" and has_total else Verdict(None, "start")
    assert pager.more == (sure if is_later else Verdict(False))


def test_pages_are_resumed() -> None:
    data = rows_of(35)
    pages: Mapping[int, tuple[Json, Mapping[str, Json]]] = {
        at: ({"items": data[at * 10 : at * 10 + 10], "total": 35}, {}) for at in (0, 2)
    }
    pager = Pager(numbered(), {"per_page": 10}, 100)
    pager.restore(pages)
    assert pager.waiting == [1, 3]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 9), st.sampled_from(["page", "offset", "cursor"]))
def test_all_rows_come_once_and_in_order(count: int, size: int, kind: str) -> None:
    result: Json = {"items": "$rows", "next_cursor": "$next"} if kind == "cursor" else "$rows"
    argument = "cursor:s" if kind == "cursor" else f"{kind}:i"
    api = Api("x", "y", f"limit:i={size} {argument}", result, {"limit": "limit", kind: kind}, size)
    paging = paging_of(api.input_schema, api.output_schema)
    assert paging is not None
    found = whole(api, Pager(paging, {}, 100), rows_of(count))
    rows = found["items"] if isinstance(found, dict) else found
    assert rows == rows_of(count)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"x-total-count": "75"}, {"total": 75}),
        ({"x-total": "75"}, {"total": 75}),
        ({"x-wp-total": "75"}, {"total": 75}),
        ({"content-range": "items 0-19/75"}, {"total": 75}),
        ({"content-range": "0-19/*"}, {}),
        ({"x-total-count": "many"}, {}),
        ({"link": '<https://a/?page=2>; rel="next", <https://a/?page=4>; rel="last"'},
         {"next": "https://a/?page=2"}),
        ({"link": "<https://a/?page=2>; rel=next"}, {"next": "https://a/?page=2"}),
        ({"link": '<https://a/?page=1>; rel="prev"'}, {"next": None}),
        ({"link": '<https://a/style.css>; rel="preload"'}, {}),
        ({"link": '<a?q=x,y;z&page=2>; rel="last next"'}, {"next": "a?q=x,y;z&page=2"}),
        ({"link": '<a?page=2>; title="a<b, c"; rel=next'}, {"next": "a?page=2"}),
        ({"link": '<a?page=2>; title="a \\" rel=last"; REL=Next'}, {"next": "a?page=2"}),
        ({"link": '<a?page=1>; title="; rel=next"; rel="prev"'}, {"next": None}),
        ({"link": '<a?page=2>; rel="next-archive"'}, {}),
        ({"link": '<a>; rel="nextcloud"'}, {}),
        ({"link": '<a>; rel=first-party, <b>; rel="last-modified"'}, {}),
        ({"x-total-pages": "3"}, {"pages": 3}),
        ({"x-wp-total": "75", "x-wp-totalpages": "8"}, {"total": 75, "pages": 8}),
        ({"x-total-pages": "?"}, {}),
        ({"x-next-page": "2"}, {"next": "2"}),
        ({"x-next-page": ""}, {"next": None}),
        ({"x-has-more": "true"}, {"more": True}),
        ({"x-ms-continuation": "abc"}, {"next": "abc"}),
        ({"pagination-count": "75", "pagination-page": "1"}, {"total": 75}),
        ({"x-pagination-total-pages": "4"}, {"pages": 4}),
        ({"x-total": "7", "x-next-page": "2", "link": '<a>; rel="last"'},
         {"total": 7, "next": "2"}),
        ({"x-pagination": '{"TotalCount": 75, "TotalPages": 4, "HasNext": true}'},
         {"total": 75, "pages": 4, "more": True}),
        ({"x-paging-info": '{"next_cursor": "abc"}'}, {"next": "abc"}),
        ({"x-pagination": "{half"}, {}),
        ({"x-count-down": "3", "x-size": "9", "age": "3", "x-more-info": "true"}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_headers(headers: Mapping[str, str], said: Mapping[str, Json]) -> None:
    assert next_link(headers) == said


def test_headers_say_what_the_body_does_not() -> None:
    paging = numbered({"type": "array"})
    assert verdict(page_of(rows_of(20), paging, {"total": 75}), paging, {}).more is True
    assert verdict(page_of(rows_of(20), paging, {"total": 20}), paging, {}).more is False
    assert verdict(page_of(rows_of(20), paging, {"next": None}), paging, {}).more is False
    assert verdict(page_of(rows_of(13), paging, {"pages": 2}), paging, {}).more is True
    assert verdict(page_of(rows_of(13), None, {"pages": 2}), None, {}).more is None
    link: Json = "https://a/?page=2"
    assert verdict(page_of(rows_of(20), paging, {"next": link}), paging, {}).more is True


@pytest.mark.parametrize(
    "said",
    [
        {"total": 75},
        {"total": "75"},
        {"count": 75, "status": "ok"},
        {"page": 1, "total_pages": 6},
        {"success": True, "pages": 4},
        {"truncated": True},
        {"more": True, "limit": 2},
        {"remaining": 73},
        {"done": False},
        {"ok": True, "meta": {"total": 75}},
    ],
)
def test_an_object_of_a_list_and_of_pages_says_that_it_is_a_part(said: dict[str, Json]) -> None:
    output: Json = {"items": [{"id": 1}, {"id": 2}], **said}
    found = verdict(page_of(output), None, {})
    assert found.more is not False
    assert found.reason


@pytest.mark.parametrize(
    "output",
    [
        {"items": [{"sku": "a"}], "total": 120, "customer": "Ada"},
        {"items": [1, 2], "total": 2},
        {"items": [1, 2], "truncated": False},
        {"items": [1, 2], "page": 1, "total_pages": 1},
        {"items": [1, 2], "count": 2},
        {"items": [1, 2], "tags": ["a"], "total": 9},
        {"lines": [1, 2], "total": 12_000},
        {"name": "Ada", "tags": ["a"], "count": 9},
        {"id": 1, "done": False, "todos": [1]},
        {"invoice": {"total": 99}, "lines": [{"a": 1}]},
        [1, 2, 3],
        {"data": [1], "next": "Tuesday"},
        "text",
        None,
        7,
    ],
)
def test_results_of_tools_without_pages_say_nothing(output: Json) -> None:
    assert verdict(page_of(output), None, {}).more is not True


@pytest.mark.parametrize(
    "output",
    [
        {"items": [1, 2], "total_count": 12},
        {"items": [1, 2], "has_more": True},
        {"items": [1, 2], "next_cursor": "a"},
        {"items": [1, 2], "nextPageToken": "a"},
        {"items": [1, 2], "meta": {"total": 12}},
        {"items": [1, 2], "pagination": {"total": 12}},
        {"items": [1, 2], "isLast": False},
        {"value": [1, 2], "@odata.nextLink": "https://a/?$skip=2"},
        {"hits": {"total": {"value": 9, "relation": "eq"}, "hits": [1]}},
        {"metadata": {"continue": "x"}, "items": [1]},
    ],
)
def test_results_tell_of_more_whatever_the_schema_says(output: Json) -> None:
    assert verdict(page_of(output), None, {}).more is True
