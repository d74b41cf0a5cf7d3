"""Documents with anything at any place: what cannot be used is a fault, nothing more."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from packages.openapi.tests.documents import PETS, SHOP, TREE, Recorder
from toolplan.dialects import known_dialect
from toolplan.plan.path import Json
from toolplan.schema import NoExample
from toolplan.schema.tool import Toolbox, ToolError, ToolObjectError
from toolplan_openapi import openapi_toolbox, read_document

DOCUMENTS: tuple[Json, ...] = (PETS, TREE, SHOP)
PAIRS = Path(__file__).parents[3] / "tests" / "dialects" / "arazzo"
FLOWS = tuple(read_document((PAIRS / f"{n}.txt").read_text()) for n in ("coupon", "jumps", "rent"))
WORDS: tuple[str, ...] = (
    "$ref", "#/components/schemas/Node", "#/components/schemas/Pet", "#/", "#", "http://127.0.0.1/x",
    "type", "object", "array", "allOf", "properties", "in", "path", "schema", "content",
    "application/json", "200", "{x}", "", "$inputs.who", "$response.body#/a", "workflowId",
)  # fmt: skip
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


@st.composite
def mutations(draw: st.DrawFn, documents: tuple[Json, ...]) -> Json:
    """Return one of `documents` with anything in one to three places."""
    mutated = original = draw(st.sampled_from(documents))
    ways = list(places(original))
    for _ in range(draw(st.integers(1, 3))):
        mutated = replaced(mutated, ways[draw(st.integers(0, len(ways) - 1))], draw(anything))
    return mutated


@given(mutations(FLOWS), st.sampled_from(("", ":order-it?thing=1", "?who=Ada")))
def test_a_workflow_with_anything_anywhere_is_read_or_refused(mutated: Json, choice: str) -> None:
    text, dialect = json.dumps(mutated), known_dialect(f"arazzo{choice}")
    for each in dialect.parse(text).diagnostics[:3]:
        dialect.locate(text, each.pointer)


@given(mutations(DOCUMENTS))
def test_a_document_with_anything_anywhere_is_read_or_refused(mutated: Json) -> None:
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
