"""Tool objects and their schemas without what is there for readers only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from toolplan.path import Json, copied
from toolplan.schema._document import sub_schemas

_TOOL_WORDS: Final = frozenset(("title", "description", "icons"))
_SCHEMA_WORDS: Final = frozenset(("title", "description", "examples", "$comment"))


def tool_without_words(item: Mapping[str, Json]) -> dict[str, Json]:
    """Return a tool object without titles, descriptions and icons, also in its schemas."""
    made = {name: part for name, part in item.items() if name not in _TOOL_WORDS}
    for name in ("input_schema", "inputSchema", "output_schema", "outputSchema"):
        if name in made:
            made[name] = _without_words(made[name])
    hints = made.get("annotations")
    if isinstance(hints, dict):
        made["annotations"] = {name: hint for name, hint in hints.items() if name != "title"}
    return made


def tool_version(item: Mapping[str, Json]) -> str:
    """Return the digest of a tool object without its words."""
    text = json.dumps(tool_without_words(item), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_words(raw: Json) -> Json:
    """Return a copy of `raw` without titles, descriptions, examples and comments."""
    made = copied(raw)
    for node in sub_schemas(made):
        for word in _SCHEMA_WORDS.intersection(node):
            del node[word]
    return made
