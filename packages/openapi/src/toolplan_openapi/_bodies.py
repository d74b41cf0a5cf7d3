"""Bodies of requests and of responses, as schemas of arguments and outputs; uploads as well.

A file is given as its content. A plan names no file of this machine: whoever wrote the plan would
choose what leaves it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.tools import ToolError
from toolplan_openapi._document import Document, Node, Place, Unusable
from toolplan_openapi._parameters import STYLES, Style, Writing, free_name
from toolplan_openapi._schemas import MEANING, Schemas, Use

Part: TypeAlias = tuple[str, tuple[str | None, bytes, str | None]]

FILE: Final[dict[str, Json]] = {
    "type": "object",
    "description": "A file: its name, and its content as text or in base64.",
    "properties": {
        "filename": {"type": "string", "minLength": 1, "maxLength": 255},
        "text": {"type": "string"},
        "base64": {"type": "string", "contentEncoding": "base64"},
        "media_type": {"type": "string", "pattern": "^[\\w.+-]+/[\\w.+-]+$"},
    },
    "required": ["filename"],
    "oneOf": [{"required": ["text"]}, {"required": ["base64"]}],
    "additionalProperties": False,
}
"""The schema of an argument that is a file."""

_OCTETS: Final = "application/octet-stream"


def is_file(node: Node) -> bool:
    """Return whether a field of this schema is a file: binary by 3.0, or by 3.1."""
    if node.get("format") == "binary":
        return True
    return "contentMediaType" in node and "contentEncoding" not in node


def file_schema(node: Node) -> Json:
    """Return the schema of the argument, for a field that is a file or a list of files."""
    said = node.get("description")
    return {**FILE, "description": f"{said} {FILE['description']}"} if said else dict(FILE)


def multipart(
    given: Mapping[str, Json], files: frozenset[str], types: Mapping[str, str]
) -> tuple[bytes, str]:
    """Return the body with the fields `given`, and its media type with the boundary.

    Args:
        given: the fields.
        files: the names of those that are files.
        types: media types that the document states, by field.

    Raises:
        ToolError: a file is not in base64, or a text cannot be sent.
    """
    parts = [
        part
        for name, value in given.items()
        for part in _parts(name, value, name in files, types.get(name))
    ]
    # an address is needed to make a request; this one is never sent
    made = httpx2.Request("POST", "http://localhost/", files=parts)
    return made.read(), made.headers["Content-Type"]


def _parts(name: str, value: Json, is_a_file: bool, stated: str | None) -> Iterator[Part]:
    if isinstance(value, list) and (is_a_file or not any(map(_is_deep, value))):
        for each in value:
            yield from _parts(name, each, is_a_file, stated)
    elif is_a_file and isinstance(value, dict):
        filename, kind = str(value["filename"]), value.get("media_type") or stated or _OCTETS
        yield name, (filename, _content(name, value), str(kind))
    elif isinstance(value, str):
        yield name, (None, encoded(value), stated)
    else:
        text = json.dumps(value, ensure_ascii=False)
        kind = stated or ("application/json" if _is_deep(value) else None)
        yield name, (None, encoded(text), kind)


def _content(name: str, value: Mapping[str, Json]) -> bytes:
    if "text" in value:
        return encoded(str(value["text"]))
    try:
        return base64.b64decode(str(value["base64"]), validate=True)
    except (binascii.Error, ValueError):
        raise ToolError(f"The file {name!r} is not in base64.") from None


def _is_deep(value: Json) -> bool:
    return isinstance(value, dict | list)


def encoded(text: str) -> bytes:
    """Return `text` as it is sent.

    Raises:
        ToolError: it holds half of a character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError("The arguments hold half of a character, which cannot be sent.") from None


_JSON: Final = re.compile(
    r"(?:application/(?:[\w.+-]+\+)?|text/)json(?:;.*)?|\*/\*|application/\*", re.IGNORECASE
)
_FORM: Final = re.compile(r"application/x-www-form-urlencoded(?:;.*)?", re.IGNORECASE)
_MULTIPART: Final = re.compile(r"multipart/form-data(?:;.*)?", re.IGNORECASE)
_TEXT: Final = re.compile(r"text/plain(?:;.*)?", re.IGNORECASE)
_SUCCESS: Final = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)
_WITHOUT_CONTENT: Final = ("204", "205", "304")
_OF_A_PLAIN_OBJECT: Final = frozenset({
    "type", "properties", "required", "additionalProperties", "description", "title", "example",
    "examples", "externalDocs", "xml"
})  # fmt: skip

Kind: TypeAlias = Literal["json", "form", "multipart", "text"]


class Body(Struct, frozen=True):
    """The body of a request.

    `fields` are the arguments that are properties of it, with their names there; None where one
    argument, `whole`, is all of it. With `rest`, arguments that are nothing else are properties of
    it too. `schemas` are those of the arguments, `required` the arguments that a call must have. Of
    a multipart body, `files` are the fields that are files, and `types` the media types that the
    document states.
    """

    kind: Kind
    media_type: str
    schemas: Mapping[str, Json]
    required: tuple[str, ...] = ()
    fields: Mapping[str, str] | None = None
    whole: str = ""
    rest: bool | Node = False
    dependent: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    writings: Mapping[str, Writing] = field(default_factory=dict[str, Writing])
    files: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict[str, str])


def read_body(document: Document, schemas: Schemas, place: Place, taken: set[str]) -> Body | None:
    """Read the `requestBody` at `place`; `taken` are the arguments that there are already.

    Raises:
        RemoteReference: a reference leads out of the document.
        Unusable: the body is of a kind that is not written here.
    """
    if place.value is None:
        return None
    place = document.follow(place)
    content = place.at("content")
    needed = place.node.get("required") is True
    for kind, media_type in _kinds(content.node):
        schema = content.at(media_type, "schema")
        media = content.at(media_type)
        if kind != "text" and (plain := _plain_object(document, schema, taken)) is not None:
            made = _of_fields(schemas, kind, media, plain, needed)
            return _with_files(document, made, media, plain) if kind == "multipart" else made
        if kind not in ("form", "multipart"):
            return _of_one(schemas, kind, media, taken, needed)
    if content.node:
        listed = ", ".join(content.node)
        can = "JSON, text, and forms and uploads that list their fields are written"
        raise Unusable(content.pointer, f"It takes {listed}; {can}.")
    return None


def read_media(document: Document, place: Place) -> tuple[str, ...]:
    """Return the media types that a successful call may answer with, from `responses` at `place`.

    Raises:
        RemoteReference: a reference leads out of the document.
        Unusable: a reference leads nowhere.
    """
    chosen = [code for code in place.node if _SUCCESS.fullmatch(code)] or ["default"]
    found = (document.follow(place.at(code)).at("content").node for code in chosen)
    stated = (kind.partition(";")[0].strip().lower() for content in found for kind in content)
    return tuple(dict.fromkeys(stated))


def is_json(kind: str) -> bool:
    """Return whether a media type is one of JSON."""
    return _JSON.fullmatch(kind) is not None or kind == "text/json"


def read_output(document: Document, schemas: Schemas, place: Place) -> Json:
    """Return the schema of what a successful call gives, from `responses` at `place`.

    None where the document does not say it, or not of all that may come.

    Raises:
        RemoteReference: a reference leads out of the document.
        Unusable: a reference leads nowhere.
    """
    chosen = [code for code in place.node if _SUCCESS.fullmatch(code)]
    if not chosen and "default" in place.node:
        chosen = ["default"]
    found: list[Json] = []
    for code in chosen:
        schema = _of_response(document, schemas, code, place.at(code))
        if schema is None:
            return None
        if schema not in found:
            found.append(schema)
    if not found:
        return None
    return schemas.whole(found[0] if len(found) == 1 else {"anyOf": found}, Use.RESPONSE)


def _of_response(document: Document, schemas: Schemas, code: str, place: Place) -> Json:
    if code in _WITHOUT_CONTENT:
        return {"type": "null"}
    content = document.follow(place).at("content")
    kinds = list(content.node)
    if not kinds:
        return None
    if all(_JSON.fullmatch(each) for each in kinds):
        schema = content.at(kinds[0], "schema")
        node = None if schema.value is None else schemas.node(schema, Use.RESPONSE)
        return None if node is True or node == {} else node
    if all(each.lower().startswith("text/") for each in kinds):
        return {"type": "string"}
    mixed = [each for each in kinds if _JSON.fullmatch(each)]
    if not mixed:
        return None
    # JSON is asked for, so JSON comes where there is a choice
    schema = content.at(mixed[0], "schema")
    return None if schema.value is None else schemas.node(schema, Use.RESPONSE)


def _kinds(content: Node) -> Iterator[tuple[Kind, str]]:
    tests: tuple[tuple[Kind, re.Pattern[str]], ...] = (
        ("json", _JSON),
        ("form", _FORM),
        ("multipart", _MULTIPART),
        ("text", _TEXT),
    )
    for kind, pattern in tests:
        for media_type in content:
            if pattern.fullmatch(media_type):
                yield kind, media_type


class _Plain(Struct, frozen=True):
    """An object whose properties may stand beside the parameters."""

    properties: Mapping[str, Place]
    required: tuple[str, ...]
    rest: Place


def _plain_object(document: Document, schema: Place, taken: set[str]) -> _Plain | None:
    """Return the properties of a body that is nothing but an object, None where it is more."""
    parts = [document.follow(schema)]
    whole = parts[0].at("allOf")
    if whole.items and len(parts[0].node.keys() - {"allOf", "description", "title"}) == 0:
        parts = [document.follow(whole.at(at)) for at in range(len(whole.items))]
    properties: dict[str, Place] = {}
    required: dict[str, None] = {}
    rest = Place(None, "")
    for part in parts:
        node = part.node
        other = node.keys() & MEANING - _OF_A_PLAIN_OBJECT
        declared = part.at("properties").node
        if other or node.get("type", "object") != "object" or not declared:
            return None
        if len(parts) > 1 and ("additionalProperties" in node or properties.keys() & declared):
            return None
        for name, each in declared.items():
            if not (isinstance(each, dict) and each.get("readOnly") is True):
                properties[name] = part.at("properties", name)
        required.update((n, None) for n in part.at("required").items if isinstance(n, str))
        rest = part.at("additionalProperties")
    if not properties or taken & properties.keys():
        return None
    return _Plain(properties, tuple(name for name in required if name in properties), rest)


def _of_fields(schemas: Schemas, kind: Kind, media: Place, plain: _Plain, needed: bool) -> Body:
    names = {name: name for name in plain.properties}
    nodes = {name: schemas.node(p, Use.REQUEST) for name, p in plain.properties.items()}
    rest: bool | Node = False
    if isinstance(plain.rest.value, dict):
        opened = schemas.node(plain.rest, Use.REQUEST)
        rest = opened if isinstance(opened, dict) else True
    elif plain.rest.value is True:
        rest = True
    # a body that may be left out needs its required properties as soon as it has any
    dependent = (
        {}
        if needed
        else {
            name: others
            for name in names
            if (others := tuple(each for each in plain.required if each != name))
        }
    )
    return Body(
        kind,
        _media_type(media),
        nodes,
        plain.required if needed else (),
        names,
        rest=rest,
        dependent=dependent,
        writings=_writings(media, plain.properties) if kind == "form" else {},
    )


def _with_files(document: Document, body: Body, media: Place, plain: _Plain) -> Body:
    """Return a multipart body whose fields that are files take a name and a content."""
    nodes, types, files = dict(body.schemas), dict[str, str](), set[str]()
    for name, place in plain.properties.items():
        found = document.follow(place)
        items = found.at("items")
        inner = found if items.value is None else document.follow(items)
        stated = media.at("encoding", name).text("contentType").partition(",")[0].strip()
        if stated and "*" not in stated:
            types[name] = stated
        if is_file(inner.node):
            files.add(name)
            file = file_schema(inner.node)
            nodes[name] = file if items.value is None else {"type": "array", "items": file}
    rest = body.rest if isinstance(body.rest, bool) else True
    return replace(body, schemas=nodes, files=frozenset(files), types=types, rest=rest)


def _of_one(schemas: Schemas, kind: Kind, media: Place, taken: set[str], needed: bool) -> Body:
    name = free_name("body", "request", taken)
    schema = media.at("schema")
    node: Json = {"type": "string"} if kind == "text" else {}
    if kind == "json" and schema.value is not None:
        node = schemas.node(schema, Use.REQUEST)
    required = (name,) if needed else ()
    return Body(kind, _media_type(media), {name: node}, required, whole=name)


def _media_type(media: Place) -> str:
    stated = media.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return "application/json" if "*" in stated else stated


def _writings(media: Place, properties: Mapping[str, Place]) -> dict[str, Writing]:
    """Return how the fields of a form are written: `encoding` says it, or the default of forms."""
    made: dict[str, Writing] = {}
    for name in properties:
        encoding = media.at("encoding", name)
        stated = encoding.text("style")
        style: Style = "form"
        for each in STYLES["query"]:
            style = each if each == stated else style
        explode = encoding.node.get("explode")
        made[name] = Writing(
            name,
            name,
            style,
            explode=explode if isinstance(explode, bool) else style == "form",
            as_json=_JSON.fullmatch(encoding.text("contentType")) is not None,
            objects_as_json=not stated and explode is None,
        )
    return made
