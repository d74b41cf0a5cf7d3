"""The text of a document as JSON: it is JSON or YAML.

In YAML, the type that a schema states decides what a scalar without quotes says. YAML takes `1.0`,
`true` and `null` for other things than text by their look, and `yes` and `.5` for text. A schema
beside them knows better: `type: string, enum: [1.0]` means the text "1.0".
"""

from __future__ import annotations

import json
import re
from typing import Final, cast

from toolplan.path import Json, json_type
from toolplan.tools import ToolObjectError
from toolplan.yaml_text import Plain, YamlError, read_yaml

MAX_TEXT: Final = 50_000_000
_MAX_DEPTH: Final = 200
VALUES: Final = frozenset({"enum", "const", "default", "example", "examples"})
TEXTS: Final = frozenset(
    {"description", "format", "name", "openapi", "operationId", "pattern", "propertyName",
     "summary", "title", "url", "version"}
)  # fmt: skip
LISTS_OF_TEXTS: Final = frozenset({"required", "tags"})
KEPT: Final = VALUES | TEXTS | LISTS_OF_TEXTS
"""Keywords whose plain scalars are read with their source text."""

_OF_SCHEMAS: Final = frozenset({"type", "$ref", "properties", "allOf", "anyOf", "oneOf"})
"""Keywords that tell a property named like a member of `VALUES` from the keyword itself."""
_FRACTION: Final = re.compile(r"[-+]?(?:[0-9]+\.|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]{1,16}")
_BOOLEANS: Final = {"yes": True, "on": True, "no": False, "off": False}
_NUMBERS: Final = frozenset({"integer", "number"})


def read_document(text: str) -> Json:
    """Return the JSON value that `text` writes, in JSON or in YAML 1.2. Keys become text.

    In YAML, scalars without quotes take the type that their schema states.

    Raises:
        ToolObjectError: it is neither, or too large.
    """
    return read_with_faults(text)[0]


def read_with_faults(text: str) -> tuple[Json, tuple[str, ...]]:
    """Return what `read_document` does, and sentences on scalars that fit no type stated.

    Raises:
        ToolObjectError: as `read_document`.
    """
    if len(text) > MAX_TEXT:
        raise ToolObjectError(f"The document is longer than {MAX_TEXT} characters.")
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text), ()
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            raise ToolObjectError(f"The document is not JSON: {error}.") from None
    try:
        read = read_yaml(text, max_depth=_MAX_DEPTH, plain_under=KEPT).value
    except YamlError as error:
        raise ToolObjectError(f"The document, line {error.line}: {error}") from None
    settling = Settling()
    return settling.settle(read), tuple(settling.faults)


class Settling:
    """Gives each plain scalar its value. `faults` name the lines of those that fit no type."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._seen: set[int] = set()

    def settle(self, node: object) -> Json:
        """Return `node` with its plain scalars settled; containers are changed in place."""
        if isinstance(node, Plain):
            return node.value
        if not isinstance(node, dict | list) or id(cast("object", node)) in self._seen:
            return cast("Json", node)
        self._seen.add(id(cast("object", node)))
        if isinstance(node, list):
            items = cast("list[Json]", node)
            items[:] = [self.settle(each) for each in items]
            return items
        fields = cast("dict[str, Json]", node)
        for key in fields:
            fields[key] = self._field(key, fields[key], fields)
        return fields

    def _field(self, key: str, value: object, node: dict[str, Json]) -> Json:
        if key in VALUES and _types(node):
            each = isinstance(value, list) and key in ("enum", "examples")
            if not each:
                return self._typed(cast("object", value), node)
            return [self._typed(item, node) for item in cast("list[object]", value)]
        if key in VALUES:
            is_schema = isinstance(value, dict) and bool(_OF_SCHEMAS & value.keys())
            whole = cast("object", value)
            return self.settle(whole) if is_schema else self._typed(whole, {})
        if key in TEXTS and isinstance(value, Plain):
            return None if value.value is None else value.text
        if key in LISTS_OF_TEXTS and isinstance(value, list):
            listed = cast("list[object]", value)
            return [each.text if isinstance(each, Plain) else self.settle(each) for each in listed]
        return self.settle(value)

    def _typed(self, value: object, schema: dict[str, Json]) -> Json:
        """Return a value as `schema` types it."""
        if isinstance(value, Plain):
            return self._scalar(value, _types(schema))
        if isinstance(value, list):
            inner = _object(schema.get("items"))
            return [self._typed(each, inner) for each in cast("list[object]", value)]
        if isinstance(value, dict):
            named = _object(schema.get("properties"))
            fields = cast("dict[str, object]", value).items()
            return {key: self._typed(each, _object(named.get(key))) for key, each in fields}
        return cast("Json", value)

    def _scalar(self, plain: Plain, types: frozenset[str]) -> Json:
        text, value = plain.text, plain.value
        if not types or _kinds(value) & types or (value is None and text in ("", "~")):
            return value
        if "string" in types:
            return text
        if types & _NUMBERS and _FRACTION.fullmatch(text):
            return float(text)
        if types & _NUMBERS and _HEX.fullmatch(text):
            return int(text, 16)
        if "boolean" in types and text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        if value is not None:
            kinds = " or ".join(sorted(types))
            what = f"{text[:100]!r} is {json_type(value)}, and its schema has the type {kinds}"
            self.faults.append(f"The document, line {plain.line}: {what}.")
        return value


def _object(schema: object) -> dict[str, Json]:
    return cast("dict[str, Json]", schema) if isinstance(schema, dict) else {}


def _types(schema: dict[str, Json]) -> frozenset[str]:
    """Return the types that a schema states; none where it states none."""
    stated: object = schema.get("type")
    listed = cast("list[object]", stated) if isinstance(stated, list) else [stated]
    found = frozenset(each for each in map(_word, listed) if isinstance(each, str))
    return found | {"null"} if found and _word(schema.get("nullable")) is True else found


def _word(stated: object) -> object:
    return stated.value if isinstance(stated, Plain) else stated


def _kinds(value: Json) -> frozenset[str]:
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return _NUMBERS
        case float():
            return _NUMBERS if value.is_integer() else frozenset({"number"})
        case _:
            return frozenset({"string"})
