"""Bodies of requests and of responses, as schemas of arguments and outputs; uploads as well.

A file is given as its content. A plan names no file of this machine: the plan's author would
choose which data leave it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal, TypeAlias

import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan_openapi._document import Node, Place, Unusable, free_name
from toolplan_openapi._parameters import (
    Pair,
    Writing,
    add_pairs,
    has_default,
    is_left_out,
    read_writing,
    refused,
)
from toolplan_openapi._schemas import MEANING, Schemas, Use

Part: TypeAlias = tuple[str, tuple[str | None, bytes, str | None]]

_Plain: TypeAlias = tuple[Mapping[str, Place], list[str], Place]
"""The properties of an object, the names of the required ones, and its `additionalProperties`."""

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


def _parts(writing: Writing, value: Json, is_a_file: bool, stated: str | None) -> Iterator[Part]:
    name, is_deep = writing.name, isinstance(value, dict | list)
    if isinstance(value, list) and (
        is_a_file or not any(isinstance(each, dict | list) for each in value)
    ):
        if not value or None in value:
            raise refused(writing, "an empty list, or null in one, cannot be said in parts")
        for each in value:
            yield from _parts(writing, each, is_a_file, stated)
    elif is_left_out(writing, value):
        return
    elif is_a_file and isinstance(value, dict):
        kind = str(value.get("media_type") or stated or "application/octet-stream")
        content = str(value.get("text", "")).encode()
        try:
            if "text" not in value:
                content = base64.b64decode(str(value["base64"]), validate=True)
        except (binascii.Error, ValueError):
            raise ToolError(f"The file {name!r} is not in base64.") from None
        yield name, (str(value["filename"]), content, kind)
    else:
        is_text = isinstance(value, str) and not is_json(stated or "")
        text = str(value) if is_text else json.dumps(value, ensure_ascii=False)
        kind = stated or ("application/json" if is_deep else None)
        yield name, (None, text.encode(), kind)


Kind: TypeAlias = Literal["json", "form", "multipart", "text"]
_KINDS: Final[Mapping[Kind, re.Pattern[str]]] = {
    "json": re.compile(
        r"(?:application/(?:[\w.+-]+\+)?|text/)json(?:;.*)?|\*/\*|application/\*", re.IGNORECASE
    ),
    "form": re.compile(r"application/x-www-form-urlencoded(?:;.*)?", re.IGNORECASE),
    "multipart": re.compile(r"multipart/form-data(?:;.*)?", re.IGNORECASE),
    "text": re.compile(r"text/plain(?:;.*)?", re.IGNORECASE),
}
"""The media types of bodies that are written, those that are preferred first."""
CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)
_SUCCESS: Final = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)
_WITHOUT_CONTENT: Final = ("204", "205", "304")
_OF_A_PLAIN_OBJECT: Final = frozenset({
    "type", "properties", "required", "additionalProperties", "description", "title", "example",
    "examples", "externalDocs", "xml"
})  # fmt: skip


class Body(Struct, frozen=True):
    """The body of a request.

    `schemas` are those of the arguments, `required` the arguments that a call must have. One
    argument, `whole`, is all of the body; where it is empty, arguments are properties of it. With
    `rest`, arguments that are nothing else are properties of it too. Of a multipart body, `files`
    are the fields that are files, and `types` the media types that the document states.
    """

    kind: Kind
    media_type: str
    schemas: Mapping[str, Json]
    required: tuple[str, ...] = ()
    whole: str = ""
    rest: bool | Node = False
    dependent: Mapping[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    writings: Mapping[str, Writing] = field(default_factory=dict[str, Writing])
    files: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict[str, str])

    def content(
        self, arguments: Mapping[str, Json], elsewhere: Collection[str]
    ) -> tuple[bytes | None, str | None]:
        """Return the content and its media type, None where `arguments` say none.

        `elsewhere` are the arguments that are parameters.
        """
        given: Json = arguments.get(self.whole)
        fields = {
            name: value
            for name, value in arguments.items()
            if name in self.schemas or (self.rest is not False and name not in elsewhere)
        }
        if self.whole not in arguments if self.whole else not (fields or self.required):
            return None, None
        match self.kind:
            case "json":
                value = given if self.whole else fields
                return json.dumps(value, ensure_ascii=False).encode(), self.media_type
            case "text":
                return _in_charset(str(given), self.media_type), self.media_type
            case "form":
                pairs: list[Pair] = []
                for name, each in fields.items():
                    if name not in self.writings:
                        raise ToolError(f"The argument {name!r} is not in the form's schema.")
                    add_pairs(pairs, self.writings[name], each, self.writings.keys() - {name})
                return "&".join(f"{n}={text}" for n, text in pairs).encode(), self.media_type
            case "multipart":
                parts = [
                    part
                    for name, each in fields.items()
                    for part in _parts(
                        self.writings.get(name, Writing(name, name, "form", explode=True)),
                        each,
                        name in self.files,
                        self.types.get(name),
                    )
                ]
                # an address is needed to make a request; this one is never sent
                made = httpx2.Request("POST", "http://localhost/", files=parts)
                return made.read(), made.headers["Content-Type"]


def _in_charset(text: str, media_type: str) -> bytes:
    """Return a text in the encoding that its media type names."""
    found = CHARSET.search(media_type)
    try:
        return text.encode("utf-8" if found is None else found[1])
    except (LookupError, UnicodeEncodeError):
        raise ToolError(f"The text cannot be sent as {media_type}.") from None


def is_json(media_type: str) -> bool:
    """Return whether a media type is one of JSON."""
    return _KINDS["json"].fullmatch(media_type) is not None


def read_body(schemas: Schemas, place: Place, taken: set[str]) -> Body | None:
    """Read the `requestBody` at `place`; `taken` are the arguments that there are already."""
    place = place.followed()
    content = place.at("content")
    needed = place.node.get("required") is True
    for kind, pattern in _KINDS.items():
        for media_type in filter(pattern.fullmatch, content.node):
            media = content.at(media_type)
            stated = "application/json" if "*" in media_type else media_type
            plain = None if kind == "text" else _plain_object(media.at("schema"), taken)
            if plain is not None:
                made = _of_fields(schemas, kind, stated, plain, needed)
                return _with_encoding(made, media.at("encoding"), plain)
            if kind in ("json", "text"):
                name = "body" if "body" not in taken else free_name("request_body", taken)
                node: Json = {"type": "string"} if kind == "text" else {}
                if kind == "json" and media.at("schema").value is not None:
                    node = schemas.node(media.at("schema"), Use.REQUEST)
                return Body(kind, stated, {name: node}, (name,) if needed else (), whole=name)
    if content.node:
        listed = ", ".join(content.node)
        can = "JSON, text, and forms and uploads that list their fields are written"
        raise Unusable(content.pointer, f"It takes {listed}; {can}.")
    return None


def read_media(place: Place) -> tuple[str, ...]:
    """Return the media types of a successful answer, from `responses` at `place`."""
    found = (place.at(code).followed().at("content").node for code in _successes(place))
    stated = (kind.partition(";")[0].strip().lower() for content in found for kind in content)
    return tuple(dict.fromkeys(stated))


def read_output(schemas: Schemas, place: Place) -> Json:
    """Return the schema of the result of a successful call, from `responses` at `place`.

    None where the document does not state it, or not for every possible response.
    """
    found: list[Json] = []
    for code in _successes(place):
        schema: Json = {"type": "null"}
        if code not in _WITHOUT_CONTENT:
            content = place.at(code).followed().at("content")
            schema = None
            # JSON is asked for, so JSON comes where there is a choice
            if kind := next(filter(is_json, content.node), None):
                stated = content.at(kind, "schema")
                node = None if stated.value is None else schemas.node(stated, Use.RESPONSE)
                schema = None if node is True or node == {} else node
            elif content.node and all(each.lower().startswith("text/") for each in content.node):
                schema = {"type": "string"}
        if schema is None:
            return None
        if schema not in found:
            found.append(schema)
    if not found:
        return None
    return schemas.whole(found[0] if len(found) == 1 else {"anyOf": found}, Use.RESPONSE)


def _successes(place: Place) -> list[str]:
    found = [code for code in place.node if _SUCCESS.fullmatch(code)]
    return found or [code for code in place.node if code == "default"]


def _plain_object(schema: Place, taken: set[str]) -> _Plain | None:
    """Return the fields of a body beside the parameters, None where it is more than an object."""
    parts = [schema.followed()]
    if parts[0].at("allOf").items and parts[0].node.keys() <= {"allOf", "description", "title"}:
        parts = [each.followed() for each in parts[0].at("allOf").each()]
    properties: dict[str, Place] = {}
    required: dict[str, None] = {}
    for part in parts:
        node, declared = part.node, part.at("properties")
        is_object = node.get("type", "object") == "object"
        is_more = not is_object or node.keys() & MEANING - _OF_A_PLAIN_OBJECT
        clashes = "additionalProperties" in node or properties.keys() & declared.node.keys()
        if is_more or not declared.node or (len(parts) > 1 and clashes):
            return None
        for name in declared.node:
            if declared.at(name).node.get("readOnly") is not True:
                properties[name] = declared.at(name)
        required |= dict.fromkeys(n for n in part.at("required").items if isinstance(n, str))
    if not properties or taken & properties.keys():
        return None
    rest = parts[-1].at("additionalProperties")
    return properties, [name for name in required if name in properties], rest


def _of_fields(schemas: Schemas, kind: Kind, stated: str, plain: _Plain, needed: bool) -> Body:
    properties, required, open_ = plain
    rest: bool | Node = open_.value is True
    if isinstance(open_.value, dict):
        opened = schemas.node(open_, Use.REQUEST)
        rest = opened if isinstance(opened, dict) else True
    # a body that may be left out needs its required properties as soon as it has any
    others = {name: [each for each in required if each != name] for name in properties}
    return Body(
        kind,
        stated,
        {name: schemas.node(place, Use.REQUEST) for name, place in properties.items()},
        tuple(required) if needed else (),
        rest=rest,
        dependent={} if needed else {name: [*each] for name, each in others.items() if each},
    )


def _with_encoding(body: Body, encoding: Place, plain: _Plain) -> Body:
    """Return a form as `encoding` has it, or an upload whose files take a name and a content."""
    if body.kind == "json":
        return body
    properties, required, _ = plain
    writings: dict[str, Writing] = {}
    for name, place in properties.items():
        each = encoding.at(name)
        writings[name] = replace(
            read_writing(each, name, "query"),
            as_json=is_json(each.text("contentType")),
            objects_as_json=not each.node.keys() & {"style", "explode"},
            differs_without=name in required or has_default(place),
        )
    body = replace(body, writings=writings)
    if body.kind == "form":
        return body
    nodes, types, files = dict(body.schemas), dict[str, str](), set[str]()
    for name, place in properties.items():
        found = place.followed()
        is_list = found.at("items").value is not None
        inner = found.at("items").followed().node if is_list else found.node
        stated = encoding.at(name).text("contentType").partition(",")[0].strip()
        if stated and "*" not in stated:
            types[name] = stated
        # binary by OpenAPI 3.0, or by 3.1
        is_raw = "contentMediaType" in inner and "contentEncoding" not in inner
        if inner.get("format") == "binary" or is_raw:
            files.add(name)
            words = f"{inner.get('description', '')} {FILE['description']}".strip()
            file: Json = {**FILE, "description": words}
            nodes[name] = {"type": "array", "items": file} if is_list else file
    rest = body.rest if isinstance(body.rest, bool) else True
    return replace(body, schemas=nodes, files=frozenset(files), types=types, rest=rest)
