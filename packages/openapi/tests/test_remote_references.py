"""Documents that refer to what is outside of them: refused, and nothing is fetched or read."""

from pathlib import Path

import pytest

from packages.openapi.tests.documents import json_response, one_get
from tests.bait import output_beside_bait
from toolplan_openapi import RemoteReference, openapi_toolbox

SCRIPT = """
import sys
from toolplan_openapi import openapi_toolbox
from toolplan.schema.tool import ToolObjectError

port, canary = sys.argv[1], sys.argv[2]
seen = []
sys.addaudithook(lambda name, args: seen.append((name, str(args)[:80])) if name in (
    "open", "socket.connect", "socket.getaddrinfo", "socket.__new__", "subprocess.Popen",
    "os.listdir", "os.scandir") else None)
targets = [f"http://127.0.0.1:{port}/s.json", f"https://127.0.0.1:{port}/s#/a", f"file://{canary}",
           canary, "../" * 9 + canary.lstrip("/"), f"//127.0.0.1:{port}/x", "urn:x:y", "s.yaml#/a",
           "http://[::1]/x", "data:,{}", "http://169.254.169.254/latest", "ftp://h/x",
           "\\\\\\\\h\\\\x", "?x", "./a.json", "a.json", "file:a", "HTTP://x", " http://x",
           "jar:file:x!/y"]
def doc(**more):
    return {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], **more}
def get(**more):
    return doc(paths={"/x": {"post": {"operationId": "x", "responses": {"204": {}}, **more}}})
def schema(s):
    return get(responses={"200": {"content": {"application/json": {"schema": s}}}})
def body(s):
    return get(requestBody={"content": {"application/json": {"schema": s}}})
def component(s):
    return {**schema({"$ref": "#/components/schemas/A"}), "components": {"schemas": {"A": s}}}
inner = [lambda r: {"$ref": r}, lambda r: {"properties": {"x": {"$ref": r}}},
    lambda r: {"items": {"$ref": r}}, lambda r: {"allOf": [{"$ref": r}]},
    lambda r: {"additionalProperties": {"$ref": r}}, lambda r: {"not": {"$ref": r}},
    lambda r: {"anyOf": [{}, {"properties": {"a": {"items": {"$ref": r}}}}]},
    lambda r: {"patternProperties": {"a": {"$ref": r}}}, lambda r: {"if": {"$ref": r}},
    lambda r: {"prefixItems": [{"$ref": r}]}, lambda r: {"contains": {"$ref": r}},
    lambda r: {"propertyNames": {"$ref": r}}, lambda r: {"dependentSchemas": {"a": {"$ref": r}}},
    lambda r: {"unevaluatedItems": {"$ref": r}}]
shapes = [lambda r, i=i, o=o: o(i(r)) for i in inner for o in (schema, body, component)]
shapes += [
    lambda r: doc(paths={"/x": {"$ref": r}}),
    lambda r: get(parameters=[{"$ref": r}]),
    lambda r: get(parameters=[{"name": "a", "in": "query", "schema": {"$ref": r}}]),
    lambda r: get(requestBody={"$ref": r}),
    lambda r: get(responses={"200": {"$ref": r}}),
    lambda r: {**schema({"$ref": "#/components/schemas/A"}),
               "components": {"schemas": {"A": {"oneOf": [{"$ref": "#/components/schemas/B"}]},
                                          "B": {"$ref": r}}}},
    lambda r: {**get(), "components": {"securitySchemes": {"k": {"$ref": r}}}},
    lambda r: get(parameters=[{"name": "a", "in": "query",
                               "content": {"application/json": {"schema": {"$ref": r}}}}]),
]
refused = 0
for shape in shapes:
    for target in targets:
        try:
            openapi_toolbox(shape(target))
        except ToolObjectError as error:
            assert "nothing outside of the document is ever fetched" in str(error), error
            refused += 1
assert not seen, seen[:5]
print(refused, len(shapes) * len(targets))
"""


def test_a_thousand_documents_that_refer_outside_touch_nothing(tmp_path: Path) -> None:
    """S05, S06: 0 sockets opened and 0 files read in 1,000 cases."""
    refused, cases = map(int, output_beside_bait(SCRIPT, tmp_path).split())
    assert refused == cases == 1_000


def test_the_pointer_to_the_reference_is_named() -> None:
    """S05."""
    document = one_get([], responses=json_response({"items": {"$ref": "https://x.example/y"}}))
    with pytest.raises(RemoteReference) as raised:
        openapi_toolbox(document)
    assert str(raised.value) == (
        "/paths/~1x/get/responses/200/content/application~1json/schema/items: "
        "it refers to 'https://x.example/y', and nothing outside of the document is ever fetched. "
        "Bundle the document into one file."
    )
