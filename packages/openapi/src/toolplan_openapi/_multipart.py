"""Bodies of `multipart/form-data`: what a field is, and how it is written.

A file is given as its content. A plan names no file of this machine: whoever wrote the plan would
choose what leaves it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import httpx2

from toolplan.path import Json
from toolplan.tools import ToolError
from toolplan_openapi._document import Node

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
