"""The body of a request, and what comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.path import Json
from toolplan_openapi._document import Document, Node, Place, Unusable
from toolplan_openapi._keywords import MEANING
from toolplan_openapi._multipart import file_schema, is_file
from toolplan_openapi._parameters import free_name
from toolplan_openapi._schemas import Schemas, Use
from toolplan_openapi._styles import STYLES, Style, Writing

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
