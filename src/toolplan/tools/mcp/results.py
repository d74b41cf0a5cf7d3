"""The result of a tool call, as plain JSON; pictures, sound and files are described in it.

Runs keep the descriptions; the contents are kept for clients that show them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import OrderedDict
from typing import Final, NamedTuple, TypeAlias, cast

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

from toolplan.plan.exact_json import read_json
from toolplan.plan.path import Json
from toolplan.schema import sub_schemas
from toolplan.schema.tool import ToolError
from toolplan.schema.tool_call import StatedLabel
from toolplan.tools.mcp._wire import clean, why_unsound

Other: TypeAlias = ImageContent | AudioContent | ResourceLink | EmbeddedResource

CONTENT: Final = "content"
"""The property in which pictures, sound and files beside structured content are described."""


class RecentMedia:
    """The latest pictures, sounds and files of results, for clients that show them.

    A run keeps their descriptions only. Beyond `most` characters of base64 the oldest are dropped.
    """

    def __init__(self, most: int = 32_000_000) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[dict[str, Json], ContentBlock, int]] = OrderedDict()

    def described(self, content: Other) -> dict[str, Json]:
        """Return the description of a content; keep the content itself, without notes on it."""
        description = _described(content)
        digest = description.get("sha256")
        if isinstance(digest, str) and _is_kind(content):
            self._kept.pop(digest, None)
            bare = content.model_copy(update={"meta": None, "annotations": None})
            self._kept[digest] = description, bare, len(bare.model_dump_json())
            while sum(size for *_, size in [*self._kept.values()]) > self._most:
                self._kept.popitem(last=False)
        return description

    def of(self, value: Json) -> list[ContentBlock]:
        """Return the contents that the result of one call describes, each once, if still kept."""
        parts = value.get(CONTENT) if isinstance(value, dict) and CONTENT in value else value
        found: list[ContentBlock] = []
        for part in parts if isinstance(parts, list) else [parts]:
            digest = part.get("sha256") if isinstance(part, dict) else None
            kept = self._kept.get(digest) if isinstance(digest, str) else None
            if kept is not None and kept[0] == part and kept[1] not in found:
                found.append(kept[1])
        return found


MEDIA: Final = RecentMedia()


def _is_kind(content: Other) -> bool:
    """Return whether a picture or a sound is of the type that it states, in base64."""
    if not isinstance(content, ImageContent | AudioContent):
        return True
    try:
        base64.b64decode(content.data, validate=True)
    except ValueError:
        return False
    return content.mime_type.startswith(f"{content.type}/")


def _described(content: Other) -> dict[str, Json]:
    match content:
        case ImageContent(data=encoded) | AudioContent(data=encoded):
            return {"type": content.type, "mime_type": content.mime_type, **_measured(encoded)}
        case ResourceLink(uri=uri, name=name, mime_type=kind):
            return {"type": "resource_link", "uri": str(uri), "name": name, "mime_type": kind}
        case EmbeddedResource(resource=resource):
            head = {"type": "resource", "mime_type": resource.mime_type, "uri": str(resource.uri)}
            match resource:
                case BlobResourceContents(blob=blob):
                    return {**head, **_measured(blob)}
                case TextResourceContents(text=text):
                    return {**head, "text": text}


def _measured(encoded: str) -> dict[str, Json]:
    try:
        content = base64.b64decode(encoded, validate=True)
    except ValueError:
        content = encoded.encode(errors="replace")
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


WRAPPED: Final = "result"
"""The one property under which servers put a list or a scalar: an output is an object in MCP."""

_CLOSING: Final = frozenset({
    "$ref", "allOf", "anyOf", "oneOf", "patternProperties", "propertyNames", "maxProperties",
    "unevaluatedProperties", "not", "enum", "const"
})  # fmt: skip
_WRAPPER_KEYS: Final = frozenset({"$defs", "$schema", "additionalProperties", "title"})


def unwrapped_schema(schema: Json) -> Json | None:
    """Return the schema of the wrapped value, or None where `schema` is not a wrapper.

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
            is_bare = all(key in _WRAPPER_KEYS or key.startswith("x-") for key in rest)
        case _:
            return None
    # no reference may lead to a place that moves when the wrapper is taken off
    references = [node.get("$ref") for node in sub_schemas(inner)]
    moves = any(isinstance(r, str) and not r.startswith("#/$defs/") for r in references)
    if others or not is_bare or inner.get("type") == "object" or moves:
        return None
    definitions = rest.get("$defs")
    return inner if definitions is None else {**inner, "$defs": definitions}


def has_room(schema: Json | None) -> bool:
    """Return whether objects of an output schema may have a property that it does not name."""
    if not isinstance(schema, dict):
        return schema is None or schema is True
    return schema.get("additionalProperties", True) in (True, {}) and not _CLOSING & schema.keys()


class Result(NamedTuple):
    """The result of a call: plain JSON, the server's label, and a note of omitted content."""

    value: Json
    stated: StatedLabel | None = None
    left_out: str = ""


def result_of(result: CallToolResult, *, wrapped: bool, roomy: bool = True) -> Result:
    """Return the result of a call: its structured content, or else its texts.

    One text is given as it is, or as its value where it is a JSON object or list; several
    contents are a list. Pictures, sound and files are described by kind, size and SHA-256, and the
    latest are kept in `MEDIA`. Beside structured content that is an object the descriptions are its
    property `content`, where the tool's output schema has room for it (`has_room`).

    Args:
        result: as it was received.
        wrapped: the tool's output schema is a wrapper (`unwrapped_schema`).
        roomy: the tool's output schema has room for another property.

    Raises:
        ToolError: the tool says that it failed, with its text; or its result is no JSON.
    """
    if result.is_error:
        said = (each.text for each in result.content if isinstance(each, TextContent))
        reason = "\n".join(text for each in said if (text := clean(each).strip()))
        if not reason and result.structured_content is not None:
            reason = json.dumps(result.structured_content, ensure_ascii=False)
        raise ToolError(clean(reason) or "The tool says that it failed, and not why.")
    stated = stated_label(result)
    states_null = "structured_content" in result.model_fields_set and not result.content
    if result.structured_content is None and not states_null:
        values = [_value(content) for content in result.content]
        return Result(values[0] if len(values) == 1 else values or None, stated)
    value = cast("Json", result.structured_content)
    if (why := why_unsound(value)) is not None:
        raise ToolError(f"The tool was called, and its result {why}.")
    more = [MEDIA.described(each) for each in result.content if not isinstance(each, TextContent)]
    if wrapped and isinstance(value, dict) and set(value) == {WRAPPED}:
        value = value[WRAPPED]
    elif more and roomy and isinstance(value, dict) and CONTENT not in value:
        return Result({**value, CONTENT: [*more]}, stated)
    named = ", ".join(f"{each['type']} ({each['mime_type']})" for each in more)
    left_out = f"The tool also gave what its output schema has no place for: {named}."
    return Result(value, stated, left_out if more else "")


def stated_label(result: CallToolResult) -> StatedLabel | None:
    """Return the label in `_meta.ifc` of a result, or of its contents; None if there is none.

    Servers write an object there with `integrity` ("trusted", "untrusted") and `confidentiality`
    ("public", or who may read it). Nothing raises a label, and an unreadable one lowers it.
    """
    metas = (result.meta, *(each.meta for each in result.content))
    found: list[object] = [meta["ifc"] for meta in metas if meta and "ifc" in meta]
    if not found:
        return None
    worst = {"integrity": None, "confidentiality": None}
    read = [cast("dict[str, object]", each) if isinstance(each, dict) else worst for each in found]
    return StatedLabel(
        any(each.get("integrity", "trusted") != "trusted" for each in read),
        any(each.get("confidentiality", "public") not in ("public", ["public"]) for each in read),
    )


def _value(content: ContentBlock) -> Json:
    """Return the value of one content: a text that is a JSON object or list is read."""
    if not isinstance(content, TextContent):
        return MEDIA.described(content)
    if not content.text.lstrip(" \t\r\n").startswith(("{", "[")):
        return content.text
    try:
        return read_json(content.text)
    except (ValueError, RecursionError):
        return content.text
