"""Which arguments ask for pages: 144 tools of 110 APIs, and tools that have none."""

import pytest

from tests.paging.apis import APIS, Api
from toolplan.plan.path import Json
from toolplan.schema.paging import Paging, paging_of

_LIST: Json = {"type": "array", "items": {"type": "object", "properties": {"id": {}}}}
_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object", "properties": {"id": {"type": "integer"}}}


def kinds(paging: Paging | None) -> dict[str, str]:
    """Return the page arguments by kind."""
    if paging is None:
        return {}
    named = {"limit": paging.limit, "page": paging.page, "offset": paging.offset}
    found = {**named, "cursor": paging.cursor}
    return {kind: "/".join(each.path) for kind, each in found.items() if each is not None}


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_page_arguments_of_public_apis(api: Api) -> None:
    assert kinds(paging_of(api.input_schema, api.output_schema)) == dict(api.pages)
    assert kinds(paging_of(api.input_schema, None)) == dict(api.pages)


def test_the_table_has_many_apis() -> None:
    assert len(APIS) >= 120
    assert len({api.api for api in APIS}) >= 40


_OTHERS: list[tuple[str, dict[str, Json], Json]] = [
    ("a quantity to order", {"sku": {"type": "string"}, "count": {"type": "integer"}}, _LIST),
    ("dice", {"count": {"type": "integer", "description": "Number of dice to roll"}}, _LIST),
    ("a credit limit", {"limit": {"type": "number", "description": "The credit limit"}}, _LIST),
    ("a limit of speed", {"limit": {"type": "integer", "description": "Speed in km/h"}}, _LIST),
    ("a date", {"after": {"type": "string", "format": "date"}}, _LIST),
    ("a day", {"after": {"type": "string", "description": "Only those after this day"}}, _LIST),
    ("a moment", {"since": {"type": "string"}, "until": {"type": "string"}}, _LIST),
    ("a way", {"from": {"type": "string"}, "to": {"type": "string"}}, _LIST),
    ("years", {"from": {"type": "integer"}, "to": {"type": "integer"}}, _LIST),
    ("epoch times", {"start": {"type": "integer"}, "end": {"type": "integer"}}, _LIST),
    ("a first name", {"first": {"type": "string"}, "last": {"type": "string"}}, _LIST),
    ("a wiki page", {"page": {"type": "string", "description": "The title"}}, _LIST),
    ("a page of a book", {"file": {"type": "string"}, "page": {"type": "integer"}}, _TEXT),
    ("a page of a pdf", {"page": {"type": "integer", "description": "Page of the PDF"}}, _LIST),
    ("a size of shoes", {"size": {"type": "integer"}}, _LIST),
    ("a size", {"size": {"type": "string", "enum": ["S", "M"]}}, _LIST),
    ("rows of seats", {"rows": {"type": "integer", "description": "Rows of seats"}}, _LIST),
    ("a number of guests", {"number": {"type": "integer", "description": "Guests"}}, _LIST),
    ("a maximum price", {"max": {"type": "number", "description": "Highest price"}}, _LIST),
    ("an order number", {"number": {"type": "string"}}, _LIST),
    ("the next step", {"next": {"type": "string"}}, _LIST),
    ("a key", {"key": {"type": "string"}}, _LIST),
    ("a token", {"token": {"type": "string", "description": "Access token"}}, _LIST),
    ("a start city", {"start": {"type": "string"}, "limit": {"type": "integer"}}, None),
    ("one thing", {"limit": {"type": "integer"}, "page": {"type": "integer"}}, _OBJECT),
    ("a length", {"length": {"type": "integer"}}, _LIST),
    ("an amount", {"amount": {"type": "integer"}}, _LIST),
    ("names to generate", {"n": {"type": "integer", "description": "Names to generate"}}, _LIST),
]


@pytest.mark.parametrize(("what", "properties", "output"), _OTHERS, ids=lambda v: str(v)[:30])
def test_other_arguments_do_not_page(what: str, properties: dict[str, Json], output: Json) -> None:
    found = kinds(paging_of({"type": "object", "properties": properties}, output))
    assert found == ({"limit": "limit"} if what == "a start city" else {})


def test_a_role_goes_before_the_name() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "wieviele": {"type": "integer", "x-role": "limit", "default": 20},
            "seite": {"type": "integer", "x-role": "page"},
        },
    }
    paging = paging_of(schema, _LIST)
    assert kinds(paging) == {"limit": "wieviele", "page": "seite"}
    assert paging is not None
    assert paging.limit is not None
    assert paging.limit.default == 20


def test_a_tool_may_declare_its_pages() -> None:
    properties: Json = {"p": {"type": "integer"}, "amount": {"type": "integer"}}
    declared: Json = {"page": "p", "limit": "amount", "rows": "out.things", "total": "out.n"}
    schema: Json = {"type": "object", "properties": properties, "x-pages": declared}
    paging = paging_of(schema)
    assert kinds(paging) == {"page": "p", "limit": "amount"}
    assert paging is not None
    assert paging.facts.rows == ("out", "things")
    assert paging.facts.totals == (("out", "n"),)


def test_a_tool_may_declare_that_it_has_none() -> None:
    schema: Json = {"type": "object", "properties": {"limit": {}}, "x-pages": False}
    assert paging_of(schema, _LIST) is None


@pytest.mark.parametrize(
    ("node", "default", "most"),
    [
        ({"default": 50}, 50, None),
        ({"maximum": 100}, None, 100),
        ({"exclusiveMaximum": 101}, None, 100),
        ({"description": "Results per page (default 30, max 100)"}, 30, 100),
        ({"description": "How many to return. Defaults to 25."}, 25, None),
        ({"description": "The maximum is 500."}, None, 500),
        ({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}], "default": 5}, 5, 9),
        ({"allOf": [{"$ref": "#/$defs/Limit"}]}, 7, 70),
    ],
)
def test_default_and_maximum_of_a_limit(
    node: dict[str, Json], default: int | None, most: int | None
) -> None:
    whole: dict[str, Json] = {"type": "integer", **node} if "allOf" not in node else node
    if "anyOf" in node:
        whole = node
    limit: Json = {"type": "integer", "default": 7, "maximum": 70}
    schema: Json = {
        "type": "object", "properties": {"limit": whole}, "$defs": {"Limit": limit}
    }  # fmt: skip
    paging = paging_of(schema, _LIST)
    assert paging is not None
    assert paging.limit is not None
    assert (paging.limit.default, paging.limit.most) == (default, most)
