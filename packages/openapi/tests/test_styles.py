"""Parameters as they are written, read back by a parser of the tests' own."""

import re
from typing import Final
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.openapi.tests.documents import (
    PET_ID,
    TEXT,
    Node,
    call,
    one_get,
    parameter,
    properties,
    recorded,
    with_paths,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan_openapi._parameters import Spot, Style, Writing, header_text, path_text, query_pairs

texts = st.text(max_size=8)
scalars = st.one_of(
    texts, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
keys = st.text(alphabet="abcXYZ_-019 &=;ü", min_size=1, max_size=5)
lists = st.lists(scalars, max_size=4)
objects = st.dictionaries(keys, scalars, max_size=4)
values = st.one_of(scalars, lists, objects)


def writing(style: Style, explode: bool, *, name: str = "na me") -> Writing:
    return Writing(name, name, style, explode)


def said(value: Json) -> str:
    """Return a scalar as text, by rules of its own."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def expected(value: Json) -> Json:
    match value:
        case list():
            return [said(each) for each in value]
        case dict():
            return {key: said(each) for key, each in value.items()}
        case _:
            return said(value)


def read_query(query: str, style: Style, explode: bool, kind: type) -> Json:
    """Read a parameter `na me` back from a query string, knowing its style and its type."""
    pairs = [tuple(pair.split("=", 1)) for pair in query.split("&")] if query else []
    if style == "deepObject":
        found = {unquote(k).removeprefix("na me[").removesuffix("]"): unquote(v) for k, v in pairs}
        return {**found}
    if kind is dict and explode:
        return {unquote(k): unquote(v) for k, v in pairs}
    mine = [v for k, v in pairs if unquote(k) == "na me"]
    if kind is list and explode:
        return [unquote(v) for v in mine]
    delimiter = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}[style]
    parts = [unquote(part) for part in mine[0].split(delimiter)] if mine[0] else []
    if kind is list:
        return [*parts]
    if kind is dict:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return unquote(mine[0])


@given(values, st.sampled_from(["form", "spaceDelimited", "pipeDelimited"]), st.booleans())
def test_what_is_in_a_query_reads_back(value: Json, style: Style, explode: bool) -> None:
    try:
        pairs = query_pairs(writing(style, explode), value)
    except ToolError as error:
        refused(value, style, explode, str(error))
        return
    query = "&".join(f"{name}={text}" for name, text in pairs)
    assert re.fullmatch(r"[A-Za-z0-9._~%,=&-]*", query)
    if value == {} and not explode:
        assert query == "na%20me="
    assert read_query(query, style, explode, type(value)) == expected(value)


def refused(value: Json, style: Style, explode: bool, message: str) -> None:
    """Say why a value could not be written: it would read back as another one."""
    if explode:
        assert value in ([], {})
        return
    delimiter = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}[style]
    flat: list[Json] = []
    match value:
        case list():
            flat = [*value]
        case dict():
            flat = [part for pair in value.items() for part in pair]
        case _:
            raise AssertionError(message)
    clash = style != "form" and any(delimiter in said(each) for each in flat)
    assert clash or flat == [""], message


@given(st.dictionaries(keys, scalars, min_size=1, max_size=4))
def test_deep_objects_read_back(value: dict[str, Json]) -> None:
    pairs = query_pairs(writing("deepObject", True), value)
    query = "&".join(f"{name}={text}" for name, text in pairs)
    assert read_query(query, "deepObject", True, dict) == expected(value)


def read_path(text: str, style: Style, explode: bool, kind: type) -> Json:
    """Read what stands in the path back."""
    if style == "label":
        assert text[0] == "."
        text = text[1:]
        between = "." if explode else ","
    elif style == "matrix":
        assert text[0] == ";"
        text = text[1:] if explode else text[1:].removeprefix("na%20me=")
        between = ";" if explode else ","
        if explode and kind is not dict:
            text = ";".join(each.removeprefix("na%20me=") for each in text.split(";"))
    else:
        between = ","
    parts = text.split(between)
    if kind is dict and explode:
        pairs = [each.split("=", 1) for each in parts]
        return {unquote(key): unquote(value) for key, value in pairs}
    read = [unquote(each) for each in parts]
    if kind is dict:
        return dict(zip(read[::2], read[1::2], strict=True))
    return [*read] if kind is list else unquote(text)


@given(values, st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_a_path_value_reads_back_in_its_segment(value: Json, style: Style, explode: bool) -> None:
    """S28."""
    try:
        text = path_text(writing(style, explode), value)
    except ToolError:
        assert leads_out(value)
        return
    assert "/" not in text
    assert re.fullmatch(r"[A-Za-z0-9._~%,;=-]+", text)
    assert read_path(text, style, explode, type(value)) == expected(value)


def leads_out(value: Json) -> bool:
    """Say whether a part of `value` may not stand in a path."""
    match value:
        case list():
            flat = [said(each) for each in value]
        case dict():
            flat = [each for k, v in value.items() for each in (k, said(v))]
        case _:
            flat = [said(value)]
    bad = re.compile(r"[/\\\x00-\x1f\x7f]|%2[efEF5]|%5[cC]|%00")
    return not flat or any(not t or t in (".", "..") or bad.search(t) for t in flat)


LEADING_OUT = (
    "../x", "..", ".", "a/b", "a\\b", "..\\..", "%2e%2e", "%2fetc", "%2F", "%252e", "%5c", "a%00",
    "a\x00b", "a\nb", "", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("value", LEADING_OUT)
def test_no_value_leads_out_of_its_place_in_the_path(value: str) -> None:
    """S28: ARG_PATH."""
    tools, recorder = recorded(one_get([PET_ID], "/pets/{petId}/toys"))
    with pytest.raises(ToolError, match=r"petId|half of a character"):
        call(tools, "get", petId=value)
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("a?b=c", "/pets/a%3Fb%3Dc/toys"),
        ("a#b", "/pets/a%23b/toys"),
        ("a b;c", "/pets/a%20b%3Bc/toys"),
        ("50%", "/pets/50%25/toys"),
        ("ü@:", "/pets/%C3%BC%40%3A/toys"),
        ("...", "/pets/.../toys"),
    ],
)
def test_other_characters_are_encoded(value: str, target: str) -> None:
    """S28."""
    tools, recorder = recorded(one_get([PET_ID], "/pets/{petId}/toys"))
    call(tools, "get", petId=value)
    assert recorder.requests[0].target == target


def test_two_values_cannot_make_a_segment_that_leads_out() -> None:
    """S28: ARG_PATH."""
    one, two = (parameter(name, "path", required=True) for name in "ab")
    tools, recorder = recorded(one_get([one, two], "/x/.{a}{b}/y"))
    call(tools, "get", a="a", b="b")
    dotted, other = recorded(one_get([one], "/x/{a}./y"))
    with pytest.raises(ToolError):
        call(dotted, "get", a=".")
    assert len(recorder.requests) == 1
    assert other.requests == []


def test_a_template_with_odd_characters_is_encoded() -> None:
    tools, recorder = recorded(with_paths({"/a b/ü?q#f": {"get": {"operationId": "x"}}}))
    call(tools, "x")
    assert recorder.requests[0].target == "/a%20b/%C3%BC%3Fq%23f"


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("simple", False, [3, 4, 5], "3,4,5"),
        ("simple", False, {"role": "admin", "n": 1}, "role,admin,n,1"),
        ("simple", True, {"role": "admin", "n": 1}, "role=admin,n=1"),
        ("label", False, 5, ".5"),
        ("label", True, [3, 4, 5], ".3.4.5"),
        ("label", False, [3, 4, 5], ".3,4,5"),
        ("label", True, {"role": "admin"}, ".role=admin"),
        ("label", True, ["1.5", "2"], ".1%2E5.2"),
        ("matrix", False, 5, ";id=5"),
        ("matrix", True, [3, 4, 5], ";id=3;id=4;id=5"),
        ("matrix", False, [3, 4, 5], ";id=3,4,5"),
        ("matrix", True, {"role": "admin", "n": 1}, ";role=admin;n=1"),
        ("matrix", False, {"role": "admin", "n": 1}, ";id=role,admin,n,1"),
    ],
)
def test_path_styles_are_written_as_in_the_specification(
    style: Style, explode: bool, value: Json, text: str
) -> None:
    assert path_text(writing(style, explode, name="id"), value) == text


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("form", True, [3, 4], "id=3&id=4"),
        ("form", False, [3, 4], "id=3,4"),
        ("form", False, [], "id="),
        ("form", True, {"role": "admin", "n": 1}, "role=admin&n=1"),
        ("form", False, {"role": "admin", "n": 1}, "id=role,admin,n,1"),
        ("form", True, "", "id="),
        ("form", True, None, ""),
        ("form", True, True, "id=true"),
        ("form", True, 1e22, "id=1e%2B22"),
        ("spaceDelimited", False, [3, 4], "id=3%204"),
        ("pipeDelimited", False, [3, 4], "id=3%7C4"),
        ("deepObject", True, {"role": "admin", "n": 1}, "id%5Brole%5D=admin&id%5Bn%5D=1"),
        ("deepObject", True, {"a": {"b": [1]}}, "id%5Ba%5D%5Bb%5D%5B0%5D=1"),
        ("deepObject", True, {"a": 1, "b": None}, "id%5Ba%5D=1"),
    ],
)
def test_query_styles_are_written_as_in_the_specification(
    style: Style, explode: bool, value: Json, query: str
) -> None:
    pairs = query_pairs(writing(style, explode, name="id"), value)
    assert "&".join(f"{name}={text}" for name, text in pairs) == query


@given(st.one_of(scalars, lists.filter(bool), objects.filter(bool)), st.booleans())
def test_what_is_in_a_header_reads_back(value: Json, explode: bool) -> None:
    try:
        text = header_text(writing("simple", explode), value)
    except ToolError:
        return
    assert text.isascii()
    assert not re.search(r"[\r\n\x00]", text)
    parts = text.split(",") if isinstance(value, list | dict) else [text]
    match expected(value):
        case dict() as wanted if explode:
            assert dict(part.split("=", 1) for part in parts) == wanted
        case dict() as wanted:
            assert dict(zip(parts[::2], parts[1::2], strict=True)) == wanted
        case list() as wanted:
            assert parts == wanted
        case wanted:
            assert text == wanted


@pytest.mark.parametrize("value", ["a\r\nX: 1", "a\nb", "\x00", "ü", ["a,b", "c"]])
def test_no_value_makes_another_header(value: Json) -> None:
    with pytest.raises(ToolError):
        header_text(writing("simple", False), value)


@pytest.mark.parametrize(
    ("spot", "value"),
    [
        ("path", [["a"]]),
        ("query", [["a"]]),
        ("header", [["a"]]),
        ("cookie", [["a"]]),
        ("query", []),
    ],
)
def test_what_a_style_cannot_say_is_refused(spot: Spot, value: Json) -> None:
    """C-36: a filter that is dropped, for an empty list, would widen the answer without a word."""
    place = parameter("a", spot, {}, required=True)
    tools, recorder = recorded(one_get([place], "/x/{a}" if spot == "path" else "/x"))
    with pytest.raises(ToolError, match="The argument 'a' cannot be sent"):
        call(tools, "get", a=value)
    assert recorder.requests == []


def test_allowed_reserved_characters_stay_but_none_that_ends_the_value() -> None:
    tools, recorder = recorded(one_get([parameter("u", allowReserved=True)]))
    call(tools, "get", u="https://x/?a=b&c=d#e+f")
    assert recorder.requests[0].target == "/x?u=https://x/?a%3Db%26c%3Dd%23e%2Bf"


FILTERS = parameter("filter", schema={"type": "object"})


def test_the_keys_of_an_object_cannot_be_other_parameters() -> None:
    limit = parameter("limit", schema={"type": "integer"})
    tools, recorder = recorded(one_get([limit, FILTERS]))
    call(tools, "get", limit=5, filter={"a": 1})
    with pytest.raises(ToolError, match="'limit' in it is another parameter"):
        call(tools, "get", limit=5, filter={"limit": 500})
    assert [each.target for each in recorder.requests] == ["/x?limit=5&a=1"]


def test_the_keys_of_an_object_cannot_go_around_a_parameter_that_is_left_out() -> None:
    limit = parameter("li:mit", schema={"type": "integer", "maximum": 5}, allowReserved=True)
    tools, recorder = recorded(one_get([limit, FILTERS]))
    with pytest.raises(ToolError, match="'li:mit' in it is another parameter"):
        call(tools, "get", filter={"li:mit": 500})
    assert recorder.requests == []


MAYBE: Final[Node] = {"type": ["array", "object", "string", "null"]}
FORM, UPLOAD = "application/x-www-form-urlencoded", "multipart/form-data"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (parameter("a", schema=MAYBE, required=True), None),
        (parameter("a", schema={**MAYBE, "default": "me"}), None),
        (parameter("a", schema={"$ref": "#/components/schemas/Mine"}), None),
        (parameter("a", "header", MAYBE, required=True), None),
        (parameter("a", "cookie", {**MAYBE, "default": "me"}), None),
        (parameter("a", schema=MAYBE), {}),
        (parameter("a", schema=MAYBE, style="deepObject"), {}),
        (parameter("a", schema=MAYBE, style="deepObject"), {"status": None}),
        (parameter("a", schema=MAYBE, style="deepObject"), {"status": "open", "owner": {}}),
        (parameter("a", "header", MAYBE), ["a,b"]),
        (parameter("a", "header", MAYBE), ["a", " b"]),
        (parameter("a", "header", MAYBE), [""]),
        (parameter("a", "header", MAYBE, explode=True), {"a": "1,b=2"}),
        (parameter("a", "header", MAYBE, explode=True), {"a=b": "c"}),
    ],
)
def test_a_parameter_that_would_say_something_else_is_refused(place: Node, value: Json) -> None:
    components: Json = {"schemas": {"Mine": {**MAYBE, "default": "me"}}}
    tools, recorder = recorded({**one_get([place]), "components": components})
    with pytest.raises(ToolError, match="The argument 'a' cannot be sent"):
        call(tools, "get", a=value)
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("kind", "schema", "value"),
    [
        (FORM, {**MAYBE, "default": "me"}, None),
        (FORM, MAYBE, {"b": "9"}),
        (FORM, MAYBE, {}),
        (UPLOAD, {**MAYBE, "default": "me"}, None),
        (UPLOAD, MAYBE, []),
        (UPLOAD, MAYBE, ["x", None]),
        ("text/plain; charset=iso-8859-1", TEXT, "€"),
    ],
)
def test_a_field_that_would_say_something_else_is_refused(
    kind: str, schema: Node, value: Json
) -> None:
    fields: Node = {"type": "object", "properties": {"a": schema, "b": TEXT}}
    media: Node = {"schema": schema if "text" in kind else fields}
    if kind == FORM:
        media["encoding"] = {"a": {"style": "form", "explode": True}}
    body: Node = {"content": {kind: media}}
    post: Node = {"operationId": "post", "requestBody": body, "responses": {}}
    tools, recorder = recorded(with_paths({"/x": {"post": post}}))
    with pytest.raises(ToolError, match="cannot be sent"):
        call(tools, "post", **{"body" if "text" in kind else "a": value})
    assert recorder.requests == []


def test_a_path_parameter_that_is_not_in_the_path_is_no_argument() -> None:
    tools, _ = recorded(one_get([PET_ID, parameter("b")], "/pets"))
    assert [each.message for each in tools.faults] == [
        "Its parameter 'petId' is not in its path, and no argument."
    ]
    assert [*properties(tools["get"])] == ["b"]


def test_null_is_left_out_where_that_is_the_same() -> None:
    places: list[Json] = [parameter("a", schema={**MAYBE, "default": None}), parameter("b")]
    tools, recorder = recorded(one_get(places))
    call(tools, "get", a=None, b="x")
    assert recorder.requests[0].target == "/x?b=x"


def test_the_keys_of_an_object_cannot_be_credentials() -> None:
    document: Node = {
        **one_get([FILTERS], security=[{"k": []}]),
        "components": {"securitySchemes": {"k": {"type": "apiKey", "in": "query", "name": "key"}}},
    }
    tools, recorder = recorded(document, auth={"k": "K"}, environment={"K": "secret"})
    with pytest.raises(ToolError, match="'key' in it is another parameter"):
        call(tools, "get", filter={"key": "mine"})
    assert recorder.requests == []
