"""Results that say in any words how much of a list they hold, and results that do not."""

from typing import Any

import pytest

from tests.paging.test_siblings import ROWS, number, part, text
from toolplan.plan.path import Json
from toolplan.schema.paging import Pager, paging_of

FIFTY = ROWS[:50]
TEN = ROWS[:10]


def page(**said: Json) -> dict[str, Json]:
    """Return fifty rows with what is `said` beside them."""
    return {"tickets": FIFTY, **said}


NUMBERS_OF_A_PART: list[dict[str, Json]] = [
    # words for the rows shown, and words for all
    {"from": 0, "to": 49, "all": 120}, {"from": 1, "to": 50, "total": 120},
    {"position": 50, "of": 120}, {"first": 1, "last": 50, "all": 120},
    {"start": 0, "end": 50, "total": 120}, {"begin": 0, "stop": 50, "count": 120},
    {"shown": 50, "available": 120}, {"returned": 50, "matching": 120},
    {"displayed": 50, "found": "120"}, {"size": 50, "overall": 120}, {"index": 0, "results": 120},
    {"current": 50, "total": 120}, {"listed": 50, "hits": 120}, {"per_page": 50, "all": 120},
    # totals under other names, and as text
    {"matchCount": "120"}, {"match_count": 120}, {"matchesCount": 120}, {"hitCount": "120"},
    {"total": "120"}, {"total": "1,200"}, {"total": "1 200"}, {"total": "120+"}, {"total": " 120 "},
    {"count": "120"}, {"totalCount": "about 120"}, {"numFound": "120"}, {"total_rows": 120.0},
    {"total": "over 50"}, {"total": "120 results"}, {"total_ticket_count": "120"},
    # numbers of rows that are not there
    {"remaining": "70"}, {"more": 70}, {"left": 70}, {"not_shown": 70}, {"hidden": 70},
    {"omittedCount": 70}, {"rows_omitted": 70}, {"truncatedCount": 70}, {"tickets_left": 70},
    {"remainingTickets": 70}, {"hasMore": 70}, {"additional": 70}, {"unreturned": 70},
    {"dropped": 70}, {"left_out": 70}, {"moreTickets": 70}, {"omitted": "70"},
    # pages that are not there
    {"remaining_pages": 2}, {"pagesLeft": 2}, {"pages_remaining": "2"}, {"more_pages": 2},
    {"omitted_pages": 2}, {"remainingPages": 2.0},
    # numbers of pages, under any name
    {"page": 1, "of": 3}, {"page": 0, "total": 3}, {"pageNumber": 2, "count": 3},
    {"page": {"number": 1, "total": 3, "page": 1}}, {"page": "1 of 3"}, {"currentPage": "1/3"},
    # objects with counts, and lists that describe the rows
    {"stats": {"total": 120, "returned": 50}}, {"counts": {"shown": 50, "all": 120}},
    {"result": {"from": 0, "to": 49, "total": 120}}, {"columns": ["id", "team"], "total": 120},
    {"warnings": ["Slow."], "from": 1, "to": 50, "all": 120}, {"errors": [], "matchCount": 120},
]  # fmt: skip


@pytest.mark.parametrize("said", NUMBERS_OF_A_PART, ids=str)
def test_numbers_beside_a_list_say_that_it_is_a_part(said: dict[str, Json]) -> None:
    assert part(page(**said), {})
    assert part({"data": page(**said)}, {})


TEXTS_OF_A_PART = [
    "70 more tickets omitted", "and 70 more", "70 more", "+70 more", "... 70 further tickets",
    "showing first 50 of 120", "50 of 120 tickets", "50 tickets of about 120", "50/120",
    "Displaying 1 to 50 of 120 entries", "Only the first 50 tickets are shown.",
    "Showing the top 50", "Results truncated.", "The list is incomplete",
    "Output capped at 50 rows", "Output truncated to 50 rows", "Too many results; limited to 50.",
    "truncated",
    "Found 120 tickets", "120 tickets found", "120 tickets in total", "Total: 120",
    "Total of 120 tickets", "120 results, 50 shown", "70 tickets not shown",
    "There are 70 others.", "There are more tickets.", "More results available",
    "70 additional rows were skipped", "70 of them were left out, 70 tickets omitted",
    "Total tickets: 120", "Number of tickets: 120", "120 total, 50 displayed", "50 (of 120)",
    "50 tickets (120 total)", "Page: 1 of 3", "Limit of 50 reached", "Only the latest 50",
    "Omitted 70 tickets", "partial list", "Page 1 of 3", "page 1/3",
]  # fmt: skip


@pytest.mark.parametrize("said", TEXTS_OF_A_PART)
def test_texts_beside_a_list_say_that_it_is_a_part(said: str) -> None:
    assert part(page(message=said), {})
    assert part(page(query="x", customer="Ada", note=said), {})
    assert part(page(warnings=["Slow.", said]), {})
    assert part(page(meta={"message": said}), {})
    assert part({"data": page(message=said)}, {})


MARKS: list[Json] = [
    "--- 70 more ---", {"id": "...", "team": "..."},
    {"...": "70 more"}, {"...": 70}, {"…": ""}, {"more": 70}, {"_more": 70}, {"truncated": True},
    {"note": "70 more tickets omitted"}, {"_truncated": "70 more rows"}, {"remaining": 70},
    {"total_count": 120}, {"next_cursor": "abc"}, {"type": "truncated", "omitted": 70},
    "... 70 more", "...", "…", "[...]", ["..."], "(70 more)", "and 70 more", "70 more",
    "<70 more>", "[70 more items]", "... and 70 other rows", "70 more tickets omitted",
]  # fmt: skip


@pytest.mark.parametrize("mark", MARKS, ids=str)
def test_a_row_may_be_the_mark_of_rows_left_out(mark: Json) -> None:
    rows = [*FIFTY, mark]
    assert "50" in part(rows, {})
    assert "50" in part({"tickets": rows}, {})
    assert "50" in part({"a": {"items": rows}}, {})


def test_a_mark_is_no_row() -> None:
    assert part([*FIFTY, {"...": "70 more"}], {}) == "50 of the 120 rows of 'a'"
    assert part([*FIFTY, "... 70 more"], {}) == "50 of the 120 rows of 'a'"
    assert part([*FIFTY[:25], "...", *FIFTY[25:]], {}).startswith("the first 50 rows")
    assert part([{"total_count": 120}, *FIFTY], {}) == "50 of the 120 rows of 'a'"
    assert part([*map(str, FIFTY), "... and 70 more"], {}) == "50 of the 120 rows of 'a'"


@pytest.mark.parametrize(
    "about",
    [
        {"page": 1, "pages": 6, "per_page": 50, "total": 299}, {"total_count": 120},
        {"has_more": True}, {"next_cursor": "abc"}, {"all": 120, "from": 0, "to": 49},
    ],
)  # fmt: skip
def test_an_object_about_pages_may_stand_beside_the_list_in_a_list(about: dict[str, Json]) -> None:
    assert "50" in part([about, FIFTY], {})
    assert "50" in part([FIFTY, about], {})


OF_TWO: list[dict[str, Any]] = [
    {"tickets": FIFTY, "ticket_total": 120, "users": TEN, "user_total": 10},
    {"users": TEN, "user_total": 10, "tickets": FIFTY, "ticket_total": 120},
    {"tickets": {"items": FIFTY, "total": 120}, "users": {"items": TEN, "total": 10}},
    {"users": {"items": TEN, "total": 10}, "tickets": {"items": FIFTY, "total": 120}},
    {"users": {"rows": TEN, "has_more": False}, "tickets": {"rows": FIFTY, "has_more": True}},
    {"users": TEN, "users_count": 10, "tickets": FIFTY, "tickets_count": "120"},
    {"users": TEN, "tickets": FIFTY, "totals": {"users": 10, "tickets": 120}},
    {"users": TEN, "tickets": FIFTY, "total_users": 10, "total_tickets": 120},
    {"users": TEN, "tickets": FIFTY, "tickets_truncated": True, "users_truncated": False},
    {"users": TEN, "tickets": FIFTY, "tickets_next_cursor": "x"},
    {"a": {"data": TEN, "count": 10}, "b": {"data": FIFTY, "count": 120}},
    {"query": "x", "users": TEN, "tickets": FIFTY, "numTickets": 120},
    {"users": TEN, "tickets": FIFTY, "message": "70 more tickets omitted"},
    {"users": TEN, "tickets": FIFTY, "note": "showing first 50 of 120"},
    {"users": TEN, "tickets": [*FIFTY, "... 70 more"]},
    {"users": {"list": TEN}, "tickets": {"list": FIFTY, "note": "and 70 more"}},
]


@pytest.mark.parametrize("output", OF_TWO, ids=lambda each: ",".join(each))
def test_each_of_several_lists_has_what_is_said_of_it(output: dict[str, Any]) -> None:
    assert part(output, {}) in {
        "50 of the 120 rows of 'a'", "the first 50 rows of 'a'; the tool has more"
    }  # fmt: skip


PIECES = [
    "chunk", "block", "batch", "slice", "part", "segment", "section", "portion", "page", "p",
    "tranche", "chunk_index", "blockNumber", "page_no", "batchNr",
]  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_a_number_may_ask_for_a_piece_of_the_list(name: str) -> None:
    said = "the first 50 rows of 'a'; nothing says whether the tool has more"
    assert part(FIFTY, {name: 2}, **{name: number()}) == said
    anything: dict[str, Json] = {}
    assert part(FIFTY, {name: "2"}, **{name: anything})
    for first in (0, 1):
        assert part({"tickets": FIFTY}, {}, **{name: number(first)})


@pytest.mark.parametrize("name", ["available", "all", "matchCount", "overall", "hits", "found"])
def test_a_count_of_as_many_rows_proves_no_end(name: str) -> None:
    assert part(page(**{name: 50}), {"limit": 50}, limit=number())


def test_an_uncertain_piece_is_never_asked_for() -> None:
    schema: Json = {"type": "object", "properties": {"chunk": number(0)}}
    assert paging_of(schema) is None


@pytest.mark.parametrize(("rows", "limit"), [(49, 50), (48, 50), (99, 100), (95, 100), (20, 20)])
def test_a_page_from_which_a_few_rows_were_taken_may_be_a_part(rows: int, limit: int) -> None:
    assert part(ROWS[:rows], {"limit": limit}, limit=number())
    assert part({"tickets": ROWS[:rows]}, {}, limit=number(limit))


def test_pages_from_which_rows_were_taken_lead_to_all_where_they_are_numbered() -> None:
    rows = [each for each in ROWS if each["id"] % 50]  # filtered behind the page
    paging = paging_of({"type": "object", "properties": {"page": number(1), "limit": number(50)}})
    assert paging is not None
    pager = Pager(paging, {}, 100)
    while not pager.complete:
        first = 50 * (int(str(pager.args_of(pager.waiting[0]).get("page", 1))) - 1)
        pager.take(pager.waiting[0], [e for e in rows if first <= e["id"] < first + 50])
    assert pager.result() == rows
    assert pager.more.more is False


def test_a_place_in_a_list_is_not_counted_where_rows_were_taken_from_a_page() -> None:
    paging = paging_of({"type": "object", "properties": {"offset": number(0), "limit": number(50)}})
    assert paging is not None
    pager = Pager(paging, {}, 100)
    pager.take(0, ROWS[1:50])
    assert pager.complete
    assert pager.more.more is None


INNOCENT: list[Json] = [
    *(
        page(**said)
        for said in [
            {"total": 50}, {"count": 50}, {"matchCount": "50"}, {"from": 0, "to": 49, "all": 50},
            {"position": 50, "of": 50}, {"remaining_pages": 0}, {"remaining": 0}, {"more": 0},
            {"hasMore": 0}, {"left": 0}, {"total": "50"}, {"shown": 50, "available": 50},
            {"truncated": False}, {"omitted": 0}, {"omitted": "0"}, {"hidden": False},
            {"total": "120 EUR"}, {"total": "1.20"},
            {"customer": "Ada", "count": 50, "total": 120},
            {"event": "x", "tickets_left": 70}, {"name": "Ada", "remaining": 9},
            {"name": "Ada", "matchCount": 134}, {"name": "Ada", "more_pages": "no"},
        ]
    ),
    {"from": "BER", "to": "MUC", "items": TEN, "total": 120},
    {"customer": "Ada", "items": TEN, "quantity": 10, "total": 99},
    {"flight": "LH1", "seats": ["1A", "1B"], "seats_left": 12},
    {"team": "A", "players": FIFTY[:11], "matchCount": 34},
    {"user": "a", "roles": ["x"], "left": "2026"},
    {"users": TEN, "tickets": FIFTY},
    {"users": TEN, "user_total": 10, "tickets": FIFTY, "ticket_total": 50},
    {"users": TEN, "tickets": FIFTY, "totals": {"users": 10, "tickets": 50}},
    {"users": {"items": FIFTY, "total": 50}, "tickets": {"items": TEN, "total": 10}},
    {"users": TEN, "groups": FIFTY, "total": 300}, {"users": TEN, "groups": FIFTY, "note": "ok"},
    {"users": TEN, "groups": FIFTY, "user_name": "Ada", "group_id": 1200},
    {"lines": TEN, "payments": FIFTY, "lines_total": 300, "payments_total": 120},
    {"rows": FIFTY, "columns": ["a", "b"], "column_count": 2},
    {"nodes": FIFTY, "edges": TEN, "node_ids": [1]},
    {"open": FIFTY, "closed": TEN, "open_since": 2020, "closed_by": 33},
    {"page": 1, "total": 1, "tickets": FIFTY}, {"page": 7, "total": 3, "chapters": FIFTY},
    {"orders": TEN, "summary": {"total": 990}}, {"rows": TEN, "columns": ["a"], "total": 10},
    {"products": FIFTY, "warehouse": {"available": 120, "city": "Rome"}},
    [{"total": 99}, ["a", "b"], 3], [{"name": "Ada", "total": 99}, ["a", "b"]],
    [*FIFTY, FIFTY[0]], [{"name": "a", "x": 1}, {"name": "b"}], [{"a": 1}, {"b": 2}],
    [{"city": "Rome"}, {"sum": 990}], [{"item": "a", "price": 10}, {"total": 30}],
    ["a", "b", "more"], ["and", "or", "not"], ["hello", "etc"], ["1 more try", "2 more tries"],
    [{"x": 1}, None], [1, 2, 3], ["[draft] a", "[draft] b"], ["3 of 120", "4 of 120"],
    ["(a)", "(b)"], [["a"], ["b"]], ["..."], [{"text": "..."}, {"text": "more"}],
    ["+49 30 1", "+49 30 2"], [{"a": 1}, {"note": "x"}],
]  # fmt: skip


@pytest.mark.parametrize("output", INNOCENT, ids=lambda each: str(each)[-60:])
def test_results_that_say_no_such_thing(output: Json) -> None:
    assert part(output, {}) == ""


INNOCENT_TEXTS = [
    "Showing 50 of 50", "50 tickets found", "Found 50 tickets", "No more results.", "OK",
    "There are no more tickets.", "0 more", "Nothing was omitted.", "Results are not truncated.",
    "All 50 tickets are shown.", "Searched 1,200 tickets; 50 match.", "Updated 3 of 120 rules.",
    "Page 1 of 1", "Open since 2026-01-01", "Rate limited to 10 requests per minute",
    "Scanned 12000 rows in 0.3 s", "version 1.2.3", "3 more weeks until the release",
    "We need 3 more volunteers.", "2 of 3 servers answered", "Prices include 3 further taxes",
    "Hidden fields are left out.", "1 other team has access", "Use `team` to see fewer.",
    "List of open tickets", "The list is complete.", "cut off at 5 pm", "Nothing more.",
    "No results were left out.", "50 results, sorted by age", "More about tickets: /help",
    "The output isn't truncated", "Tickets of 2026", "1 of 2 shards is slow",
    "Number of tickets: 50",
    "Limit of tickets per team: 5", "Top tickets first",
]  # fmt: skip


@pytest.mark.parametrize("said", INNOCENT_TEXTS)
def test_texts_that_say_no_such_thing(said: str) -> None:
    assert part(page(message=said), {}) == ""
    assert part(page(customer="Ada", note=said), {}) == ""
    assert part(page(warnings=[said]), {}) == ""


@pytest.mark.parametrize("said", ["3 hidden tickets", "Truncated list of things", *TEXTS_OF_A_PART])
def test_what_a_person_wrote_is_not_about_the_result(said: str) -> None:
    mail: dict[str, Json] = {"subject": "Plan", "to": "Ada", "attachments": TEN}
    found = part({**mail, "body": f"Dear Ada, the list of today: {said}"}, {})
    assert found in ("", "10 of the 80 rows of 'a'")  # "and 70 more" counts in any text


@pytest.mark.parametrize(
    ("rows", "args", "node"),
    [
        (FIFTY, {"page": 3}, {**number(), "description": "Page of the PDF"}),
        (FIFTY, {"block": 2}, {**number(), "description": "Block of the city"}),
        ([{"block": 2}] * 50, {"block": 2}, number()),
        (FIFTY, {"team": 1}, number()), (FIFTY, {"part_id": 1}, number()),
        (FIFTY, {"part_number": 77001}, number()), (FIFTY, {"chunk": "a"}, text()),
        (FIFTY[:1], {"block": 1}, number()), (FIFTY, {"blocked": 1}, number()),
        (FIFTY, {"section_code": 1}, number()), (FIFTY, {"batch_year": 2}, number()),
        ({"tickets": FIFTY, "total": 50}, {"chunk": 0}, number()), (FIFTY, {"level": 1}, number()),
        (FIFTY, {"version": 1}, number()), (FIFTY, {"n": 7}, number()),
        (FIFTY, {"chunk": None}, number()), (ROWS[:41], {"limit": 50}, number()),
        (ROWS[:9], {"limit": 10}, number()), (ROWS[:3], {"limit": 50}, number()),
        (ROWS[:18], {"limit": 20}, number()),
    ],
)  # fmt: skip
def test_numbers_of_something_else(
    rows: Json, args: dict[str, Json], node: dict[str, Json]
) -> None:
    assert part(rows, args, **dict.fromkeys(args, node)) == ""
