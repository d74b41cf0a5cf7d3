"""What a call of a tool gives, as plain JSON."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Final, NoReturn, cast

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan.schema.tool_call import StatedLabel
from toolplan.tools.mcp._answers import why_unsound
from toolplan.tools.mcp._texts import clean
from toolplan.tools.replies import read_json

WRAPPED: Final = "result"
"""The one property under which servers put a list or a scalar: an output is an object in MCP."""

CONTENT: Final = "content"
"""The property in which pictures, sound and files beside structured content are described."""

_IFC: Final = "ifc"
"""Where servers state labels of information-flow control, in `_meta`."""
_CLOSING: Final = frozenset({
    "$ref", "allOf", "anyOf", "oneOf", "patternProperties", "propertyNames", "maxProperties",
    "unevaluatedProperties", "not", "enum", "const"
})  # fmt: skip
_WRAPPER_KEYS: Final = frozenset({"$defs", "$schema", "additionalProperties", "title"})


def unwrapped_schema(schema: Json) -> Json | None:
    """Return the schema of what is in the wrapper, or None where `schema` is none.

    A wrapper is an object with the one property `result`, which is required and is not an object
    itself.
    """
    match schema:
        case {
            "type": "object",
            "properties": {"result": dict(inner), **others},
            "required": ["result"],
            **rest,
        }:
            pass
        case _:
            return None
    is_bare = all(key in _WRAPPER_KEYS or key.startswith("x-") for key in rest)
    if others or not is_bare or inner.get("type") == "object" or _points_inside(inner):
        return None
    definitions = rest.get("$defs")
    return inner if definitions is None else {**inner, "$defs": definitions}


def has_room(schema: Json | None) -> bool:
    """Return whether objects of an output schema may have a property that it does not name."""
    if not isinstance(schema, dict):
        return schema is None or schema is True
    return schema.get("additionalProperties", True) in (True, {}) and not _CLOSING & schema.keys()


class Result(Struct, frozen=True):
    """What a call gave.

    Attributes:
        value: as plain JSON.
        stated: the label that the server states for it.
        left_out: a sentence on what has no place in the value.
    """

    value: Json
    stated: StatedLabel | None = None
    left_out: str = ""


def result_of(result: CallToolResult, *, wrapped: bool, roomy: bool = True) -> Result:
    """Return what a call gave: its structured content, or else its texts.

    One text is given as it is, or as what it says where it is a JSON object or list; several
    contents are a list. Pictures, sound and files are described, not carried along: their kind,
    size and SHA-256. Beside structured content that is an object the descriptions are its property
    `content`, where the tool's output schema has room for it (`has_room`).

    Args:
        result: what came over the wire.
        wrapped: the tool's output schema is a wrapper (`unwrapped_schema`).
        roomy: the tool's output schema has room for another property.

    Raises:
        ToolError: the tool says that it failed, with its text; or its result is no JSON.
    """
    if result.is_error:
        _fail(result)
    stated = stated_label(result)
    states_null = "structured_content" in result.model_fields_set and not result.content
    if result.structured_content is None and not states_null:
        values = [_value(content) for content in result.content]
        return Result(values[0] if len(values) == 1 else values or None, stated)
    value = cast("Json", result.structured_content)
    if (why := why_unsound(value)) is not None:
        raise ToolError(f"The tool was called, and its result {why}.")
    more = [_value(each) for each in result.content if not isinstance(each, TextContent)]
    if wrapped and isinstance(value, dict) and set(value) == {WRAPPED}:
        value = value[WRAPPED]
    elif more and roomy and isinstance(value, dict) and CONTENT not in value:
        return Result({**value, CONTENT: more}, stated)
    kinds = [cast("dict[str, Json]", each) for each in more]
    named = ", ".join(f"{each['type']} ({each['mime_type']})" for each in kinds)
    left_out = f"The tool also gave what its output schema has no place for: {named}."
    return Result(value, stated, left_out if more else "")


def stated_label(result: CallToolResult) -> StatedLabel | None:
    """Return what a server states in `_meta.ifc` of a result, or of its contents; None if nothing.

    Servers write an object there with `integrity` ("trusted", "untrusted") and `confidentiality`
    ("public", or who may read it). Nothing raises a label, and what cannot be read lowers it.
    """
    metas = (result.meta, *(each.meta for each in result.content))
    found = [_read_label(meta[_IFC]) for meta in metas if meta and _IFC in meta]
    if not found:
        return None
    return StatedLabel(
        any(each.is_untrusted for each in found), any(each.is_secret for each in found)
    )


def _read_label(ifc: object) -> StatedLabel:
    if not isinstance(ifc, dict):
        return StatedLabel(is_untrusted=True, is_secret=True)
    label = cast("dict[str, object]", ifc)
    integrity, readers = label.get("integrity", "trusted"), label.get("confidentiality", "public")
    return StatedLabel(integrity != "trusted", readers not in ("public", ["public"]))


def _fail(result: CallToolResult) -> NoReturn:
    texts = [clean(each.text) for each in result.content if isinstance(each, TextContent)]
    reason = "\n".join(text.strip() for text in texts if text.strip())
    if not reason and result.structured_content is not None:
        reason = json.dumps(result.structured_content, ensure_ascii=False)
    raise ToolError(clean(reason) or "The tool says that it failed, and not why.")


def _value(content: ContentBlock) -> Json:
    match content:
        case TextContent(text=text):
            return _read(text)
        case ImageContent(data=encoded, mime_type=kind):
            return _described("image", kind, encoded)
        case AudioContent(data=encoded, mime_type=kind):
            return _described("audio", kind, encoded)
        case ResourceLink(uri=uri, name=name, mime_type=kind):
            return {"type": "resource_link", "uri": str(uri), "name": name, "mime_type": kind}
        case EmbeddedResource(resource=resource):
            return _resource(resource)


def _resource(resource: TextResourceContents | BlobResourceContents) -> Json:
    uri, kind = str(resource.uri), resource.mime_type
    match resource:
        case BlobResourceContents(blob=blob):
            return {**_described("resource", kind, blob), "uri": uri}
        case TextResourceContents(text=text):
            return {"type": "resource", "mime_type": kind, "uri": uri, "text": text}


def _read(text: str) -> Json:
    """Return `text` parsed as JSON if it is an object or a list; any other text unchanged."""
    if not text.lstrip(" \t\r\n").startswith(("{", "[")):
        return text
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text


def _described(what: str, kind: str | None, encoded: str) -> dict[str, Json]:
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = encoded.encode(errors="replace")
    digest = hashlib.sha256(content).hexdigest()
    return {"type": what, "mime_type": kind, "bytes": len(content), "sha256": digest}


def _points_inside(schema: Json) -> bool:
    """Return whether a reference leads to a place that moves when the wrapper is taken off."""
    match schema:
        case dict():
            target = schema.get("$ref")
            moves = isinstance(target, str) and not target.startswith("#/$defs/")
            return moves or any(_points_inside(each) for each in schema.values())
        case list():
            return any(_points_inside(each) for each in schema)
        case _:
            return False
