"""The result of a tool call, as plain JSON."""

from __future__ import annotations

import json
from typing import Final, NamedTuple, cast

from mcp.types import CallToolResult, ContentBlock, TextContent

from toolplan.plan.exact_json import read_json
from toolplan.plan.path import Json
from toolplan.schema import sub_schemas
from toolplan.schema.tool import ToolError
from toolplan.schema.tool_call import StatedLabel
from toolplan.tools.mcp._wire import clean, why_unsound
from toolplan.tools.mcp.media import CONTENT, MEDIA

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
