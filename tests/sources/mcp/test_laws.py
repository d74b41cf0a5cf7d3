"""Laws: whatever a server says, nothing breaks, and nothing hidden comes through."""

import asyncio
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Toolbox
from toolplan.tools.mcp._listing import Listing, Page, read_listing
from toolplan.tools.mcp._owner import Target
from toolplan.tools.mcp._wire import LISTING, Interceptor, answer_to, clean
from toolplan.tools.mcp.results import unwrapped_schema
from toolplan.tools.mcp.source import clean_schema, tools_of
from toolplan.tools.secrets import Mask

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["object", "result", "#/$defs/a", "look", "a\u202eb"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "result", "required", "$ref", "$defs", "x-aliases"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
OPTIONAL = ("description", "inputSchema", "outputSchema", "annotations", "_meta")
TOOLS = st.lists(
    VALUES
    | st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b", "c.d", "a b", ""]) | VALUES},
        optional=dict.fromkeys(OPTIONAL, VALUES),
    ),
    max_size=4,
)


def nothing(_listed: Target) -> Call:
    async def call(_arguments: Arguments) -> Json:
        return None

    return call


async def listing(server: str, listed: list[Any]) -> Listing:
    names = {name for each in listed if (name := _name(each)) is not None}

    async def page(_cursor: str | None) -> Page:
        return Page(listed, names, None)

    return await read_listing(server, {"name": server}, page)


def _name(tool: object) -> str | None:
    name = cast("dict[str, object]", tool).get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None


@given(TOOLS, TOOLS)
def test_whatever_servers_list_there_is_a_toolbox(one: list[Any], other: list[Any]) -> None:
    listings = {
        name: asyncio.run(listing(name, tools)) for name, tools in (("x", one), ("y", other))
    }
    box = Toolbox(tools_of(listings, nothing))
    for name, tool in box.items():
        assert name.startswith(f"{tool.source}.")
        assert tool.unusable is None or isinstance(tool.unusable, str)
        for alias in tool.aliases:
            assert box.alias(alias) == name
    assert len(box) + sum(len(each.refused) for each in listings.values()) <= len(one + other)


@given(st.lists(VALUES, max_size=4))
def test_whatever_a_page_holds_the_sdk_gets_what_it_can_read(listed: list[Any]) -> None:
    interceptor = Interceptor(lambda: None, lambda _method: None)
    interceptor.going_out(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list")))
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": listed})
    interceptor.coming_in(SessionMessage(answer))
    assert interceptor.page == listed
    for each in answer.result["tools"]:
        assert set(each) == {"name", "inputSchema"}
        assert each["inputSchema"]["type"] == "object"


@given(VALUES)
def test_what_is_in_a_wrapper_is_found_and_only_there(schema: Json) -> None:
    wrapper: dict[str, Json] = {
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
    }
    inner = unwrapped_schema(wrapper)
    assert inner is None or inner == schema
    assert unwrapped_schema(schema) is None or isinstance(schema, dict)


@given(VALUES)
def test_cleaning_a_schema_twice_changes_nothing_more(schema: Json) -> None:
    once = clean_schema(schema)
    assert clean_schema(once) == once


@given(st.text(), st.integers(1, 20))
def test_a_clean_text_is_short_and_stays_clean(text: str, most: int) -> None:
    once = clean(text, most)
    assert len(once) <= most
    assert clean(once, most) == once


@given(st.lists(st.text(min_size=4, max_size=8), min_size=1, max_size=3), VALUES)
def test_no_secret_is_left_in_any_text(secrets: list[str], value: Json) -> None:
    masked = json.dumps(Mask(secrets).every_text([value, *secrets, "".join(secrets)]))
    texts: list[str] = []

    def collect(part: Json) -> None:
        match part:
            case str():
                texts.append(part)
            case list():
                for each in part:
                    collect(each)
            case dict():
                for each in part.values():
                    collect(each)
            case _:
                pass

    collect(json.loads(masked))
    # stars beside a rest may spell a secret of stars, and hide nothing
    assert not any(s in text for text in texts for s in secrets if "*" not in s)


@pytest.mark.parametrize("tool", ['"\\ud800"', "[" * 151 + "]" * 151])
async def test_what_is_no_tool_and_cannot_be_kept_ends_no_listing(tool: str) -> None:
    sent = f'{{"id": 1, "result": {{"tools": [{tool}, {{"name": "look"}}]}}}}'
    answer = answer_to(1, LISTING, sent)
    assert isinstance(answer, JSONRPCResponse)

    async def page(_: str | None) -> Page:
        return Page(answer.result["tools"], {"look"}, None)

    found = await read_listing("s", {}, page)
    assert [*found.tools] == ["look"]
    assert len(found.refused) == 1
