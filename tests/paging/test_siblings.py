"""Lists that are cut in ways that no table of names knows: each is said to be a part."""

from __future__ import annotations

from typing import Any

import pytest

import toolplan
from toolplan.engine._outcomes import own_part
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool
from toolplan.show.answer import answer
from toolplan_sql import sql_tool

ROWS: list[Any] = [{"id": at, "team": at % 3} for at in range(120)]


def part(output: Json, args: dict[str, Json], **properties: Json) -> str:
    """Return what is said of a result; empty where it counts as whole."""
    schema: Json = {"type": "object", "properties": properties}
    tool = Tool("list_things", "Things.", schema, None)
    found = own_part("a", tool, args, output, {})
    return found[0].text if found else ""


def number(default: Json = None) -> dict[str, Json]:
    return {"type": "integer", **({} if default is None else {"default": default})}


@pytest.mark.parametrize(
    "name",
    [
        "batch_size", "count", "n", "size", "first", "rows", "quantity", "how_many", "window",
        "chunk", "sample", "upTo", "amount", "lot", "portion", "maximum", "nItems", "few",
    ],
)  # fmt: skip
def test_as_many_rows_as_an_argument_says_may_be_a_part(name: str) -> None:
    said = "the first 50 rows of 'a'; the tool may have more"
    assert part(ROWS[:50], {}, **{name: number(50)}) == said
    assert part(ROWS[:50], {name: 50}, **{name: number()}) == said
    assert part({"data": ROWS[:50]}, {name: 50}, **{name: number()}) == said


FIFTY: dict[str, Json] = {"batch": number(50)}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"batch": {"$ref": "#/$defs/size"}}, "$defs": {"size": number(50)}},
        {"properties": {"batch": {"allOf": [number(50)]}}},
        {"properties": {"batch": {"anyOf": [number(50), {"type": "null"}]}}},
        {"allOf": [{"properties": FIFTY}]},
        {"$ref": "#/$defs/all", "$defs": {"all": {"properties": FIFTY}}},
    ],
)
def test_a_default_counts_wherever_the_schema_writes_it(schema: Json) -> None:
    tool = Tool("list_things", "Things.", schema)
    assert own_part("a", tool, {}, ROWS[:50], {})


def test_an_argument_that_a_reference_names_takes_a_cursor() -> None:
    schema: Json = {"$ref": "#/$defs/all", "$defs": {"all": {"properties": {"bookmark": text()}}}}
    tool = Tool("list_things", "Things.", schema)
    assert own_part("a", tool, {}, {"things": ROWS[:30], "bookmark": "a7"}, {})


@pytest.mark.parametrize("value", ["50", 50.0])
def test_a_number_counts_however_it_is_written(value: Json) -> None:
    assert part(ROWS[:50], {"batch_size": value}, batch_size={})


@pytest.mark.parametrize(
    "name", ["customer_id", "teamId", "year", "fiscalYear", "port", "zipCode", "radius", "day"]
)
def test_a_number_that_counts_no_rows_is_none(name: str) -> None:
    assert part(ROWS[:50], {name: 50}, **{name: number()}) == ""


def test_a_number_that_each_row_repeats_is_a_filter() -> None:
    rows: list[Any] = [{"id": at, "shelf": 12} for at in range(12)]
    assert part(rows, {"shelf": 12}, shelf=number()) == ""
    assert part(rows, {"shelf": 11}, shelf=number()) == ""


def test_a_result_that_shows_its_end_goes_before_the_number() -> None:
    assert part({"data": ROWS[:50], "total": 50}, {"batch": 50}, batch=number()) == ""
    assert part({"data": ROWS[:50], "has_more": False}, {"batch": 50}, batch=number()) == ""


@pytest.mark.parametrize(
    "rest",
    [
        {"LastEvaluatedKey": {"id": 39}},
        {"nextKey": {"pk": "a", "sk": 3}},
        {"nextCursor": {"after": "x"}},
        {"@odata.nextLink": "https://a.example/next"},
        {"nextLink": "https://a.example/next"},
        {"links": {"next": "https://a.example/next"}},
        {"_links": {"next": {"href": "/next"}}},
        {"pageInfo": {"hasNextPage": True, "endCursor": "x"}},
        {"IsTruncated": True},
        {"incomplete_results": True},
        {"isLast": False},
        {"more": True},
        {"meta": {"pagination": {"total_pages": 3}}},
        {"meta": {"pagination": {"total_pages": "3"}}},
        {"meta": {"pages": "3"}},
        {"users": [{"id": 1}], "groups": [{"id": 2}], "next_page_token": "x"},
        {"users": [{"id": 1}], "groups": [{"id": 2}], "has_more": True},
        {"users": [{"id": 1}], "groups": [{"id": 2}], "isLast": False},
        {"total": "120"},
        {"remaining": 80},
        {"next_offset": 40},
    ],
)
def test_what_a_result_says_about_the_rest_is_read(rest: dict[str, Json]) -> None:
    assert part({"items": ROWS[:40], **rest}, {})


@pytest.mark.parametrize(
    "rest",
    [
        {"LastEvaluatedKey": {}}, {"LastEvaluatedKey": None}, {"nextLink": None}, {"isLast": True},
        {"more": False}, {"links": {"next": None}}, {"total": None}, {"IsTruncated": False},
        {"meta": {"pagination": {"total_pages": "1"}}}, {"users": [{"id": 1}], "total": 300},
    ],
)  # fmt: skip
def test_an_end_is_an_end(rest: dict[str, Json]) -> None:
    assert part({"items": ROWS[:40], **rest}, {}) == ""


@pytest.mark.parametrize("rows", [ROWS[:40], [str(at) for at in range(40)]], ids=["rows", "texts"])
@pytest.mark.parametrize("inside", [(), ("result",), ("data", "payload")], ids=str)
@pytest.mark.parametrize(
    "rest",
    [
        {"total": 120}, {"_total": "120"}, {"total": 120, "showing": 40},
        {"showing": 40, "of": 120},
        {"count": 120}, {"remaining": 80}, {"page": 1, "pages": 3}, {"truncated": True},
        {"partial": True}, {"incomplete": True}, {"complete": False}, {"is_complete": False},
        {"end": False}, {"exhausted": False}, {"limitReached": True}, {"next": True},
        {"exceededTransferLimit": True}, {"hasMore": 1}, {"has_more": "true"}, {"isLast": "no"},
        {"totalTickets": 120}, {"ticket_count": 120}, {"numberOfTickets": 120},
        {"total_ticket_count": 120}, {"more": {"count": 80}}, {"nextRange": "40-79"},
        {"continue_from": 40}, {"cut_off": True}, {"__next": "https://a.example/?$skiptoken=40"},
    ],
)  # fmt: skip
def test_a_list_of_any_name_beside_words_about_pages_only_is_a_page(
    rest: dict[str, Json], inside: tuple[str, ...], rows: Json
) -> None:
    output: Json = {"tickets": rows, **rest}
    for name in inside:
        output = {name: output}
    assert part(output, {})


@pytest.mark.parametrize(
    "output",
    [
        {"lines": [{"price": 60}, {"price": 60}], "total": 120},
        {"prices": [60, 60], "total": 120},
        {"tickets": ROWS[:40], "total": 120, "customer": "Ada"},
        {"tickets": ROWS[:40], "hasMore": 0, "isLast": "yes"},
        {"title": "Ada's list", "chores": ROWS[:4], "complete": False},
        {"order": 7, "lines": ROWS[:4], "partial": True},
        {"charges": ROWS[:4], "total_charges": 120},
        {"orders": ROWS[:4], "order_total": 990},
        {"tickets": ROWS[:4], "open_ticket_count": 9},
        {"tickets": ROWS[:4], "ticket_count": 4, "totalTickets": 4},
        {"name": "Ada", "posts": ROWS[:4], "post_count": 9},
    ],
)
def test_a_list_beside_something_else_is_no_page(output: Json) -> None:
    assert part(output, {}) == ""


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"tickets": ROWS[:40], "note": "Showing first 40 of 120 results."}, "of the 120"),
        ({"tickets": ROWS[:40], "message": "1-40 out of 1,200"}, "of the 1,200"),
        ({"tickets": ROWS[:40], "range": "items 0-39/120"}, "of the 120"),
        ({"tickets": ROWS[:40], "info": "... and 80 more"}, "of the 120"),
        ([*map(str, ROWS[:39]), "(81 more)"], "of the 120"),
        ({"tickets": ROWS[:40], "note": "Showing 40 of 40."}, ""),
        ({"tickets": ROWS[:40], "note": "Updated 3 of 120 rules."}, ""),
    ],
)
def test_words_beside_the_rows_say_how_many_there_are(output: Json, said: str) -> None:
    found = part(output, {})
    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize("value", ["0-39", "items=0-39", "1:40", "1..40"])
def test_a_range_asks_for_a_number_of_rows(value: str) -> None:
    assert part(ROWS[:40], {"range": value}, range={"type": "string"})
    assert part(ROWS[:39], {"range": value}, range={"type": "string"}) == ""


async def test_an_offset_counting_pages_leads_through_all() -> None:
    @toolplan.tool(effects="read")
    def listed(offset: int = 0, limit: int = 50) -> list[dict[str, Any]]:
        """List things.

        Args:
            offset: Number of the page.
            limit: Rows per page.
        """
        return ROWS[offset * limit : (offset + 1) * limit]

    plan = '{"toolplan": 1, "steps": [{"id": "a", "tool": "listed", "pages": "all"}]}'
    tools = toolplan.Toolbox([listed])
    compiled = toolplan.compile_plan(plan, tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    run = await toolplan.run(compiled.plan, tools=tools)
    assert run.steps["a"].output == ROWS


ACTING: dict[str, tuple[dict[str, Json], Json]] = {
    "a condition that holds": ({"when": {"value": "${n.data[0].n}", "is": {"maximum": 99}}}, None),
    "a condition that does not": ({"when": {"value": "${n.data[0].n}", "is": {"minimum": 99}}}, {}),
    "a call for each row": ({"for_each": "${a.things}"}, {"all": "sent"}),
    "a value in a text": ({"args": {"text": "${n.data[0].n} things"}}, "done"),
}


@pytest.mark.parametrize("case", ACTING)
async def test_what_is_changed_or_skipped_over_a_part_is_said_whatever_the_output(
    case: str,
) -> None:
    @toolplan.tool(effects="read")
    def listed() -> dict[str, Any]:
        """List things."""
        return {"things": ROWS[:40], "total": 120}

    @toolplan.tool(effects="write")
    def send(text: str = "") -> str:
        """Send a text."""
        return text

    more, output = ACTING[case]
    count: Json = {"sql": "SELECT count(*) AS n FROM t", "tables": {"t": "${a.things}"}}
    steps: Json = [
        {"id": "a", "tool": "listed"},
        {"id": "n", "tool": "sql", "args": count},
        {"id": "s", "tool": "send", **more},
    ]
    plan: Json = {"toolplan": 1, "steps": steps, **({} if output is None else {"output": output})}
    tools = toolplan.Toolbox([listed, send, sql_tool()])
    compiled = toolplan.compile_plan(plan, tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    approval = toolplan.ValueApproval()
    waits = await toolplan.run(compiled.plan, tools=tools, approval=approval)
    if waits.status is RunState.WAITING:
        assert "40 of the 120 rows of 'a'" in answer(compiled.plan, waits).headline
    run = await toolplan.run(compiled.plan, tools=tools, approval=toolplan.approve)
    assert [each.text for each in run.partial] == ["40 of the 120 rows of 'a'"]


def test_lists_of_which_none_is_surely_the_rows_go_on_too() -> None:
    both: dict[str, Json] = {"users": ROWS[:13], "groups": ROWS[:5]}
    assert part({**both, "next_page_token": "x"}, {})
    assert part({**both, "has_more": True}, {})
    assert part({**both, "next_page_token": None}, {}) == ""
    assert part(both, {}) == ""


def test_a_total_below_the_number_of_rows_counts_something_else() -> None:
    assert part({"data": ROWS[:50], "total": 3}, {"batch": 50}, batch=number())
    assert part({"data": ROWS[:50], "total": 3}, {}) == ""


def test_a_total_may_be_a_lower_bound() -> None:
    hits: Json = {"hits": {"total": {"value": 10, "relation": "gte"}, "hits": ROWS[:10]}}
    assert part(hits, {}) == "the first 10 rows of 'a'; the tool may have more"
    hits = {"hits": {"total": {"value": 10, "relation": "eq"}, "hits": ROWS[:10]}}
    assert part(hits, {}) == ""


async def test_a_cursor_that_is_an_object_leads_through_all_pages() -> None:
    asked: list[object] = []

    @toolplan.tool(effects="read")
    def scan(exclusive_start_key: dict[str, int] | None = None) -> dict[str, Any]:
        """Scan a table; exclusive_start_key continues it."""
        asked.append(exclusive_start_key)
        first = 0 if exclusive_start_key is None else exclusive_start_key["id"] + 1
        rows = ROWS[first : first + 50]
        last = {"LastEvaluatedKey": {"id": rows[-1]["id"]}} if first + 50 < len(ROWS) else {}
        return {"Items": rows, **last}

    plan = '{"toolplan": 1, "steps": [{"id": "a", "tool": "scan", "pages": "all"}]}'
    tools = toolplan.Toolbox([scan])
    compiled = toolplan.compile_plan(plan, tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    run = await toolplan.run(compiled.plan, tools=tools)
    output = run.steps["a"].output
    assert isinstance(output, dict)
    assert output["Items"] == ROWS
    assert asked == [None, {"id": 49}, {"id": 99}]


def text(default: Json = "") -> dict[str, Json]:
    return {"type": "string", "default": default}


@pytest.mark.parametrize(
    ("argument", "key"),
    [
        ("bookmark", "bookmark"), ("scroll", "scroll_id"), ("resume_from", "resume_from"),
        ("anchor", "anchor"), ("position", "position"), ("token", "token"),
        ("after", "continuation"),
        ("iteratorToken", "iterator"), ("checkpoint", "new_checkpoint"), ("seek_to", "seek"),
    ],
)  # fmt: skip
def test_a_text_that_an_argument_takes_is_a_cursor(argument: str, key: str) -> None:
    said = "the first 30 rows of 'a'; the tool may have more"
    assert part({"things": ROWS[:30], key: "a7"}, {}, **{argument: text()}) == said
    assert part({"things": ROWS[:30], key: "a7"}, {argument: "a6"}, **{argument: text()})


@pytest.mark.parametrize("link", ["/things?page=2", "?page=2", "https://api.example.org/2"])
def test_a_link_next_is_one_without_arguments(link: str) -> None:
    assert part({"things": ROWS[:30], "next": link}, {})


@pytest.mark.parametrize(
    ("argument", "key", "value"),
    [
        ("region", "region", "eu"), ("units", "units", "metric"), ("name", "title", "x"),
        ("since", "since", "2026-01-01"), ("after", "after", ""), ("token", "total_text", "x"),
        ("q", "next", "call the office"), ("currency", "currency", "EUR"),
    ],
)  # fmt: skip
def test_other_texts_beside_a_list_are_none(argument: str, key: str, value: str) -> None:
    assert part({"things": ROWS[:30], key: value}, {}, **{argument: text()}) == ""


def test_what_was_sent_and_comes_back_is_none() -> None:
    assert part({"things": ROWS[:30], "token": "t"}, {"token": "t"}, token=text()) == ""
    assert part({"things": ROWS[:30], "start": "a"}, {}, start=text("a")) == ""
