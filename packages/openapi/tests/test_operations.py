"""What operations become: names, arguments, outputs, effects."""

import json

import pytest

from packages.openapi.tests.documents import (
    PET_ID,
    PETS,
    SHOP,
    TEXT,
    TREE,
    Node,
    call,
    json_response,
    node,
    one_get,
    one_post,
    operations,
    parameter,
    properties,
    recorded,
    with_paths,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, ToolObjectError
from toolplan_openapi import _operations, openapi_toolbox, read_openapi


def test_every_tool_of_every_document_can_be_used() -> None:
    for document in (PETS, TREE, SHOP):
        for tool in openapi_toolbox(document).values():
            assert tool.unusable is None
            assert tool.output_fault is None


def test_operation_ids_are_names_and_what_no_plan_can_write_stays_an_alias() -> None:
    named = ["listPets", "createPet", "getPet", "head_pets_petId", "replacePet", "pets_change"]
    assert list(operations(PETS)) == [*named, "deletePet"]
    assert openapi_toolbox(PETS).alias("pets/change") == "pets_change"


def test_missing_and_double_ids_get_names_from_method_and_path() -> None:
    """S27."""
    get: Node = {"responses": {}}
    document = with_paths(
        {
            "/a/{x}": {"parameters": [{**PET_ID, "name": "x"}], "get": get},
            "/b": {"get": {**get, "operationId": "same"}},
            "/c": {"get": {**get, "operationId": "same"}, "put": {**get, "operationId": "get_c"}},
            "/c/": {"get": {**get, "operationId": "  "}},
        }
    )
    assert list(operations(document)) == ["get_a_x", "same", "get_c", "put_c", "get_c_2"]


def test_effects_come_from_the_method() -> None:
    read = read_openapi(PETS).operations
    assert {each.method: (each.tool.effects, each.tool.idempotent) for each in read} == {
        "GET": (Effects.READ, True),
        "HEAD": (Effects.READ, True),
        "POST": (Effects.WRITE, False),
        "PUT": (Effects.WRITE, True),
        "PATCH": (Effects.WRITE, False),
        "DELETE": (Effects.DESTRUCTIVE, True),
    }


@pytest.mark.parametrize(
    ("name", "spot", "effects"),
    [
        ("X-HTTP-Method-Override", "header", Effects.UNKNOWN),
        ("x-method-override", "header", Effects.UNKNOWN),
        ("X-HTTP-Method", "header", Effects.UNKNOWN),
        ("_method", "query", Effects.UNKNOWN),
        ("method", "query", Effects.READ),
        ("X-Payment-Method", "header", Effects.READ),
    ],
)
def test_a_parameter_that_names_another_method_may_change_anything(
    name: str, spot: str, effects: Effects
) -> None:
    parameter: Json = {"name": name, "in": spot, "schema": {"type": "string"}}
    get: Json = {"operationId": "a", "parameters": [parameter], "responses": {"200": {}}}
    document: Json = {"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": get}}}
    tool = operations(document)["a"]
    assert (tool.effects, tool.idempotent) == (effects, effects is Effects.READ)


def test_hints_of_the_document_override_the_method_and_the_user_overrides_both() -> None:
    """S23."""
    note = operations(SHOP)["note"]
    assert (note.effects, note.idempotent) == (Effects.DESTRUCTIVE, False)
    labelled = openapi_toolbox(SHOP).labelled({"order": Effects.WRITE})
    assert labelled["order"].effects is Effects.WRITE


def test_what_is_deprecated_is_said_so() -> None:
    assert operations(PETS)["deletePet"].description == "Deprecated. Deletes a pet."
    assert operations(PETS)["listPets"].description == "Lists pets. The newest first."
    assert operations(PETS)["getPet"].description == "GET /pets/{petId}."


def test_parameters_become_arguments_and_credentials_do_not() -> None:
    assert list(properties(operations(PETS)["listPets"])) == ["tags", "weight", "X-Trace"]
    assert properties(operations(PETS)["listPets"])["weight"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "At least so heavy.",
    }


def test_names_that_collide_are_distinguished() -> None:
    renamed = ["query_id", "header_id", "cookie_id"]
    assert list(properties(operations(SHOP)["order"])) == [
        "id",
        "part",
        *renamed,
        "filter",
        "where",
    ]
    tools, recorder = recorded(SHOP)
    call(tools, "order", id="1", part=["a"], query_id="2", header_id="3", cookie_id="4")
    (request,) = recorder.requests
    assert request.target == "/api/orders/1/;part=a?id=2"
    assert dict(request.headers) == {"id": "3"}
    assert request.cookies == (("id", "4"),)


def test_a_path_parameter_that_is_not_declared_makes_the_operation_unusable() -> None:
    document = with_paths({"/x/{y}": {"get": {"responses": {}}}, "/z": {"get": {"responses": {}}}})
    read = read_openapi(document)
    assert [each.path for each in read.operations] == ["/z"]
    assert [str(each) for each in read.faults] == [
        "/paths/~1x~1{y}/get: No parameter says what 'y' in its path is."
    ]


def test_the_operation_overrides_the_parameters_of_its_path() -> None:
    whole: Json = {"type": "integer"}
    get: Node = {"operationId": "get", "parameters": [parameter("a", schema=whole)]}
    document = with_paths({"/x": {"parameters": [parameter("a")], "get": get}})
    assert properties(operations(document)["get"]) == {"a": whole}


def test_the_properties_of_a_body_become_arguments() -> None:
    create = operations(PETS)["createPet"]
    assert list(properties(create)) == ["name", "nick", "size", "secret", "kind"]
    assert node(create.raw_input)["required"] == ["name"]
    tools, recorder = recorded(PETS)
    call(tools, "createPet", name="Rex", nick=None, kind={"type": "dog", "barks": True})
    (request,) = recorder.requests
    assert json.loads(request.content or b"") == {
        "name": "Rex",
        "nick": None,
        "kind": {"type": "dog", "barks": True},
    }
    assert ("Content-Type", "application/json") in request.headers


def test_a_body_that_collides_with_a_parameter_is_one_argument() -> None:
    assert list(properties(operations(SHOP)["note"])) == ["text", "body"]
    tools, recorder = recorded(SHOP)
    call(tools, "note", text="a", body={"text": "b"})
    (request,) = recorder.requests
    assert (request.target, request.content) == ("/api/notes?text=a", b'{"text": "b"}')


def test_a_body_that_may_be_left_out_is_left_out_or_whole() -> None:
    change = openapi_toolbox(PETS)["pets_change"]
    assert change.input.violations({"petId": "1"}) == []
    assert change.input.violations({"petId": "1", "name": "x"}) == []
    (missing,) = change.input.violations({"petId": "1", "nick": "x"})
    assert "name" in missing.message
    tools, recorder = recorded(PETS)
    call(tools, "pets_change", petId="1")
    assert recorder.requests[0].content is None


def test_a_body_made_of_parts_is_one_object() -> None:
    schema: Node = {
        "allOf": [
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
            {"type": "object", "properties": {"b": TEXT}},
        ]
    }
    assert operations(one_post(schema))["post"].raw_input == {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        {"anyOf": [{"type": "object", "properties": {"a": TEXT}}, TEXT]},
        {"type": "object", "properties": {"a": TEXT}, "minProperties": 1},
        {"type": ["object", "null"], "properties": {"a": TEXT}},
        {"type": "object"},
        {},
    ],
)
def test_any_other_body_is_one_argument(schema: Json) -> None:
    assert properties(operations(one_post(schema))["post"]) == {"body": schema}


def test_a_body_that_takes_any_more_properties_takes_any_more_arguments() -> None:
    schema: Node = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}
    document = one_post(schema, parameters=[parameter("q")])
    tools, recorder = recorded(document)
    call(tools, "post", q="1", a="2", other="3")
    assert recorder.requests[0].content == b'{"a": "2", "other": "3"}'
    assert tools["post"].input.violations({"other": 3}) != []


def test_forms_are_written_as_their_encoding_says() -> None:
    tools, recorder = recorded(SHOP)
    call(tools, "pay", amount=5, tags=["a b", "c,d"], meta={"x": [1]}, note="ü&=")
    (request,) = recorder.requests
    written = b"amount=5&tags=a%20b,c%2Cd&meta=%7B%22x%22%3A%5B1%5D%7D&note=%C3%BC%26%3D"
    assert request.content == written
    assert ("Content-Type", "application/x-www-form-urlencoded") in request.headers


def test_a_key_header_is_no_argument_and_makes_the_call_repeatable() -> None:
    pay = operations(SHOP)["pay"]
    assert "Idempotency-Key" not in properties(pay)
    assert pay.idempotent


def test_a_body_of_another_kind_is_a_fault() -> None:
    (fault,) = read_openapi(SHOP).faults
    assert str(fault) == (
        "/paths/~1photos/post/requestBody/content: "
        "It takes multipart/form-data; JSON, text, and forms and uploads that list their fields "
        "are written."
    )


def test_words_in_a_schema_that_mean_nothing_are_passed_over() -> None:
    """As JSON Schema says. `requiredProperties` is in a published example of Arazzo."""
    schema: Node = {"type": "object", "properties": {"a": TEXT}, "requiredProperties": ["a"]}
    content: Json = {"application/x-www-form-urlencoded": {"schema": schema}}
    read = read_openapi(one_post({}, requestBody={"content": content}))
    assert not read.faults
    assert [properties(each.tool) for each in read.operations] == [{"a": TEXT}]


def test_outputs_are_those_of_success() -> None:
    found = operations(PETS)
    assert found["deletePet"].raw_output == {"type": "null"}
    assert found["head_pets_petId"].raw_output == {"type": "null"}
    assert operations(SHOP)["note"].raw_output == {"type": "string"}
    assert operations(SHOP)["get_notes"].raw_output is None
    created = node(found["createPet"].raw_output)
    assert created["required"] == ["id", "name"]
    assert set(node(created["properties"])) == {"id", "name", "nick", "size", "secret", "kind"}


def test_several_outcomes_are_alternatives() -> None:
    both: Node = {**json_response(TEXT), "204": {"description": "Nothing."}}
    output = operations(one_get([], responses=both))["get"].raw_output
    assert output == {"anyOf": [TEXT, {"type": "null"}]}


def test_an_outcome_that_is_not_said_leaves_the_output_open() -> None:
    unsaid: Node = {**json_response(TEXT), "202": {"description": "Later."}}
    assert operations(one_get([], responses=unsaid))["get"].raw_output is None
    only_default: Node = {"default": json_response(TEXT)["200"]}
    assert operations(one_get([], responses=only_default))["get"].raw_output == TEXT


def test_tool_objects_say_where_they_send() -> None:
    tool = openapi_toolbox(PETS)["getPet"]
    assert tool.annotations["openapi"] == {
        "method": "GET",
        "path": "/pets/{petId}",
        "server": "https://pets.example/v1",
    }
    assert tool.source == "pets.example"


@pytest.mark.parametrize(
    ("base_url", "target"),
    [
        (None, "/v1/pets"),
        ("https://other.example", "/pets"),
        ("https://other.example/v2/", "/v2/pets"),
        ("https://other.example/pets", "/pets/pets"),
    ],
)
def test_the_base_url_stands_before_the_path_once(base_url: str | None, target: str) -> None:
    """C-35."""
    tools, recorder = recorded(PETS, base_url=base_url)
    call(tools, "listPets")
    assert recorder.requests[0].target == target


def test_a_base_url_that_all_paths_begin_with_is_said_once() -> None:
    """C-35."""
    document = with_paths({"/api/a": {"get": {"operationId": "a", "responses": {}}}})
    tools, recorder = recorded(document, base_url="http://localhost:4000/api")
    call(tools, "a")
    assert recorder.requests[0].target == "/api/a"


def test_relative_servers_need_a_base_url_to_be_called_and_none_to_be_planned() -> None:
    tools = openapi_toolbox(TREE)
    assert all(tool.call is None for tool in tools.values())
    assert [each.message for each in tools.faults] == [
        "Give base_url: the document does not say on which host the service is."
    ]
    document: Node = {**TREE, "servers": [{"url": "/v3"}]}
    based, recorder = recorded(document, base_url="https://tree.example")
    call(based, "shapes")
    assert recorder.requests[0].target == "/v3/shapes"


@pytest.mark.parametrize("url", ["//[", "/a/../b", "..", "http://[/x"])
def test_an_odd_server_is_a_fault_with_and_without_a_base_url(url: str) -> None:
    document: Node = {**one_get([]), "servers": [{"url": url}]}
    assert openapi_toolbox(document)["get"].call is None
    tools = openapi_toolbox(document, base_url="https://a.example")
    assert (tools["get"].call is None) == (not url.startswith("http"))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "It is not an OpenAPI document: it has no 'openapi' that gives its version as text."),
        ({"openapi": 3.1}, "It is not an OpenAPI document: it has no 'openapi'"),
        ({"swagger": "2.0"}, "It is a Swagger 2.0 document; OpenAPI 3.0 and 3.1 are read."),
        ({"openapi": "4.0.0"}, "It is an OpenAPI '4.0.0' document; 3.0 and 3.1 are read."),
        ({"openapi": "3.1.0"}, "has no operation that can be used. Its 'paths' hold none."),
        (
            {"openapi": "3.1.0", "paths": {"/x": {"$ref": "#/nowhere"}}},
            "/paths/~1x: It refers to '#/nowhere', which is not in the document.",
        ),
    ],
)
def test_what_is_no_document_is_refused_with_help(document: Json, message: str) -> None:
    with pytest.raises(ToolObjectError) as raised:
        openapi_toolbox(document)
    assert message in str(raised.value)


def test_a_document_of_too_many_operations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """S14."""
    assert _operations.MAX_OPERATIONS == 10_000
    monkeypatch.setattr(_operations, "MAX_OPERATIONS", 10)
    paths: Node = {f"/{number}": {"get": {"responses": {}}} for number in range(10)}
    assert len(read_openapi(with_paths(paths)).operations) == 10
    with pytest.raises(ToolObjectError, match="more than 10 operations"):
        read_openapi(with_paths({**paths, "/x": {"get": {"responses": {}}}}))


def test_a_long_id_is_cut_and_stays_an_alias() -> None:
    """S18."""
    names = ["a" * 100 + "b", "a" * 100 + "c", "x" * 10_000]
    document = with_paths(
        {f"/{n}": {"get": {"operationId": name, "responses": {}}} for n, name in enumerate(names)}
    )
    tools = openapi_toolbox(document)
    assert list(tools) == ["a" * 64, "get_1", "x" * 64]
    assert tools.alias(names[0]) == "a" * 64
    assert tools.alias(names[2]) is None
