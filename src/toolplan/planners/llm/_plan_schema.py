"""The JSON Schema of a reply, for endpoints that constrain what a model writes."""

from __future__ import annotations

from typing import Final

from toolplan.path import Json
from toolplan.schema import JsonType, Schema, at, elements, required, types_of
from toolplan.tools import Tool, Toolbox

_TEXT: Final[Json] = {"type": "string"}
_REFERENCE: Final[Json] = {"type": "string", "pattern": '^\\$\\{[^{}"\\\\]+\\}$'}
"""No key in quotes: endpoints that turn a pattern into a grammar forget to escape them."""
_SIMPLE: Final[frozenset[JsonType]] = frozenset(("null", "boolean", "integer", "number", "string"))
_LIST: Final[frozenset[JsonType]] = frozenset(("array",))
_OBJECT: Final[frozenset[JsonType]] = frozenset(("object",))
_DEEPEST: Final = 4
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Json] = {"type": "number"}
_CONDITION: Final[dict[str, Json]] = {
    "const": {}, "enum": {"type": "array"}, "type": {"enum": [*sorted(_SIMPLE), "array", "object"]},
    "minimum": _NUMBER, "exclusiveMinimum": _NUMBER, "maximum": _NUMBER,
    "exclusiveMaximum": _NUMBER, "minLength": _COUNT, "pattern": _TEXT, "minItems": _COUNT,
    "maxItems": _COUNT, "contains": {}, "items": {}, "prefixItems": {"type": "array"},
    "required": {"type": "array", "items": _TEXT}, "properties": {"type": "object"},
    "not": {"type": "object"}, "anyOf": {"type": "array"},
}  # fmt: skip
"""The keywords of conditions. Free objects are where small models never come to an end."""
_MOST_CHOICES: Final = 100

_FEW: Final = 6
_SHORT: Final = 100
_SHORT_REFERENCE: Final[Json] = {"type": "string", "pattern": '^\\$\\{[^{}"\\\\]{1,60}\\}$'}
_LEAF: Final[Json] = {
    "anyOf": [
        {"type": "string", "maxLength": _SHORT},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
    ]
}
_ANY: Final[Json] = {"anyOf": [_LEAF, {"type": "array", "items": _LEAF, "maxItems": _FEW}]}


def plan_schema(tools: Toolbox, *, small: bool = False) -> Json:
    """Return the JSON Schema of a reply: a plan, a clarification or a refusal.

    It covers the form of plans, the names of tools, and for each tool the names of its arguments
    and the kinds of their values; a reference may stand for any value. The rest is up to the check.

    `small` is for models that repeat themselves until their reply is cut off: it allows 6 steps of
    id, tool, arguments and `for_each` over a reference, lists of 6, and texts of 100 characters.
    """
    if small:
        return _bounded(_reply([_small_step(tool) for tool in tools.values()], "steps"))
    return _reply([_step(tool) for tool in tools.values()], "steps", "output")


def _reply(each_step: list[Json], *fields: str) -> Json:
    steps: Json = {"type": "array", "items": {"anyOf": each_step}}
    question: Json = _object(
        {"question": _TEXT, "options": {"type": "array", "items": _TEXT}}, "question", "options"
    )
    plan: dict[str, Json] = {"toolplan": {"const": 1}, "steps": steps, "output": {}}
    return {
        "anyOf": [
            _object({name: plan[name] for name in ("toolplan", *fields)}, "toolplan", "steps"),
            _object({"clarification": question}, "clarification"),
            _object({"refusal": _object({"reason": _TEXT}, "reason")}, "refusal"),
        ]
    }


def _step(tool: Tool) -> Json:
    value: Json = {"anyOf": [_REFERENCE, {"type": "array", "items": _REFERENCE}]}
    fits: Json = {"type": "object", "properties": _CONDITION, "additionalProperties": False}
    fields: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"},
        "tool": {"const": tool.name},
        "args": _arguments(tool.input),
        "after": {"type": "array", "items": _TEXT},
        "for_each": {"anyOf": [_REFERENCE, {"type": "array"}]},
        "max_items": {"type": "integer", "minimum": 1},
        "when": _object({"value": value, "is": fits}, "value", "is"),
        "on_error": {"enum": ["fail", "continue"]},
    }
    return _object(fields, "id", "tool", "args")


def _small_step(tool: Tool) -> Json:
    fields: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,19}$"},
        "tool": {"const": tool.name},
        "args": _arguments(tool.input),
        "for_each": _REFERENCE,
    }
    return _object(fields, "id", "tool", "args")


def _arguments(schema: Schema, depth: int = _DEEPEST) -> Json:
    """Return the schema of an object, as of all arguments: names, and kinds of values."""
    node = schema.closed().node
    if not isinstance(node, dict) or node.get("additionalProperties") is not False:
        return {"type": "object"}
    named = node.get("properties")
    names = list(named) if isinstance(named, dict) else []
    needed = [name for name in required(schema) if name in names]
    return _object({name: _value(schema, name, depth - 1) for name in names}, *needed)


def _value(schema: Schema, name: str, depth: int) -> Json:
    found = at(schema, (name,))
    return _kind(found, depth) if isinstance(found, Schema) else {}


def _kind(schema: Schema, depth: int) -> Json:
    """Return what a value of `schema` may look like in a plan: {} where that is anything."""
    choices = _choices(schema)
    if choices is not None:
        return {"anyOf": [{"enum": choices}, _REFERENCE]}
    kinds = types_of(schema)
    if kinds == _OBJECT and depth > 0:
        return {"anyOf": [_arguments(schema, depth), _REFERENCE]}
    if kinds == _LIST and depth > 0:
        inner = elements(schema)
        items = _kind(inner, depth - 1) if isinstance(inner, Schema) else {}
        return {"anyOf": [{"type": "array", "items": items}, _REFERENCE]}
    if not kinds or not kinds <= _SIMPLE:
        return {}
    named = sorted(kinds - {"integer"} if "number" in kinds else kinds)
    written: list[Json] = [{"type": kind} for kind in named]
    if "string" not in named:  # any text may be a reference
        written.append(_REFERENCE)
    return written[0] if len(written) == 1 else {"anyOf": written}


def _choices(schema: Schema) -> list[Json] | None:
    node = schema.node
    choices = node.get("enum") if isinstance(node, dict) else None
    if not isinstance(choices, list) or not 0 < len(choices) <= _MOST_CHOICES:
        return None
    return choices


def _bounded(schema: Json) -> Json:
    """Return `schema` with an end to every list and text in it, and flat open objects."""
    if not isinstance(schema, dict):
        return schema
    if isinstance(choices := schema.get("anyOf"), list):
        return {"anyOf": [_bounded(each) for each in choices]}
    if "const" in schema or "enum" in schema:
        return schema
    named = schema.get("properties")
    match schema.get("type"):
        case None:
            return _ANY
        case "string" if schema == _REFERENCE:
            return _SHORT_REFERENCE
        case "string" if "pattern" not in schema:
            return {"type": "string", "maxLength": _SHORT}
        case "array":
            return {**schema, "items": _bounded(schema.get("items", {})), "maxItems": _FEW}
        case "object" if isinstance(named, dict):
            return {**schema, "properties": {key: _bounded(each) for key, each in named.items()}}
        case "object":
            return {"type": "object", "additionalProperties": _LEAF}
        case _:
            return schema


def _object(properties: dict[str, Json], *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
