"""Documents with anything at any place: what cannot be used is a fault, nothing more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from packages.openapi.tests.documents import PETS, SHOP, TREE, Recorder
from toolplan.path import Json
from toolplan.schema import NoExample
from toolplan.tools import Toolbox, ToolError, ToolObjectError
from toolplan_openapi import openapi_toolbox

DOCUMENTS = (PETS, TREE, SHOP)
WORDS: tuple[str, ...] = (
    "$ref",
    "#/components/schemas/Node",
    "#/components/schemas/Pet",
    "#/",
    "#",
    "http://127.0.0.1/x",
    "type",
    "object",
    "array",
    "allOf",
    "properties",
    "in",
    "path",
    "schema",
    "content",
    "application/json",
    "200",
    "{x}",
    "",
)
scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(WORDS)
)
anything: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each part of `value`."""
    yield path
    match value:
        case dict():
            for key, inner in value.items():
                yield from places(inner, (*path, key))
        case list():
            for at, inner in enumerate(value):
                yield from places(inner, (*path, at))
        case _:
            return


def replaced(value: Json, path: tuple[str | int, ...], by: Json) -> Json:
    """Return `value` with `by` in place of the part at `path`."""
    if not path:
        return by
    first, *rest = path
    match value:
        case dict():
            return {k: replaced(v, tuple(rest), by) if k == first else v for k, v in value.items()}
        case list():
            return [replaced(v, tuple(rest), by) if k == first else v for k, v in enumerate(value)]
        case _:
            return by


WAYS = [(document, list(places(document))) for document in DOCUMENTS]


@given(st.data())
def test_a_document_with_anything_anywhere_is_read_or_refused(drawn: st.DataObject) -> None:
    document, ways = WAYS[drawn.draw(st.integers(0, len(WAYS) - 1))]
    mutated: Json = document
    for _ in range(drawn.draw(st.integers(1, 3))):
        way = ways[drawn.draw(st.integers(0, len(ways) - 1))]
        mutated = replaced(mutated, way, drawn.draw(anything))
    before = json.dumps(mutated)
    try:
        tools = openapi_toolbox(mutated, base_url="https://a.example", transport=Recorder())
    except ToolObjectError:
        return
    assert json.dumps(mutated) == before
    for tool in tools.values():
        assert tool.name
        assert json.loads(json.dumps(tool.to_json())) == tool.to_json()
        _ = tool.output_fault, tool.signature
    asyncio.run(call_each(tools))


async def call_each(tools: Toolbox) -> None:
    """Call every tool that can be called with arguments that its schema accepts."""
    for tool in tools.values():
        if tool.unusable is not None or tool.call is None:
            continue
        with suppress(NoExample, ToolError):
            arguments = tool.input.example()
            assert isinstance(arguments, dict)
            assert await tool.call(arguments) in ({}, None)


@given(st.sampled_from(DOCUMENTS))
def test_the_same_document_makes_the_same_tools(document: Json) -> None:
    one, other = openapi_toolbox(document), openapi_toolbox(json.loads(json.dumps(document)))
    assert [tool.to_json() for tool in one.values()] == [tool.to_json() for tool in other.values()]
