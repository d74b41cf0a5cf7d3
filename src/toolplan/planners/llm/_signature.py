"""A tool as one line of types, with a tenth of the tokens of its schemas."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.schema import Schema, SchemaError, required
from toolplan.tools import Tool

MAX_CHARACTERS: Final = 2_400
"""The longest side of a signature; a longer one is cut, and ends with `…`."""

_DEPTH: Final = 4
_WORTH_A_NAME: Final = 60
_WORTH_A_CHOICE: Final = 20
_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"((?: \| "(?:[^"\\]|\\.)*")*)')
_NAMES: Final = 40
_VALUES: Final = 24
_FORMATS: Final = {"date": "date", "date-time": "datetime", "time": "time"}
_SHORT: Final = {"boolean": "bool", "integer": "int", "string": "str", "null": "null"}


class _Scope(Struct, frozen=True):
    """Where in a schema: levels left, the nodes around it, whether bounds of numbers are shown."""

    depth: int
    seen: frozenset[int]
    bounds: bool

    def below(self) -> _Scope:
        return replace(self, depth=self.depth - 1)


def signature_text(tool: Tool) -> str:
    """Return `tool` as `name(argument: type, optional?: type) -> type`.

    Types are `str`, `int`, `number`, `bool`, `date`, `datetime`, `null`, `any`, values in quotes,
    `[T]` for lists, `{name: T}` for objects; `?` marks what may be missing, `|` a choice, `…` what
    was left out. The output is `any` where the tool declares none.
    """
    try:
        given = _fields(tool.input, _Scope(_DEPTH, frozenset(), bounds=True))
    except SchemaError:
        given = "…"
    # a schema learned from results is not shown: its names come from what tools returned
    output = tool.output
    scope = _Scope(_DEPTH, frozenset(), bounds=False)  # a plan writes no values of a result
    gives = "any" if output is None else _type(output, output.node, scope)
    return f"{tool.name}({_cut(given)}) -> {_cut(gives)}"


def signatures_text(tools: Iterable[Tool]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types that several of `tools` share, by generated names, and each signature.

    The signatures use these names: a row that ten tools return is written once.
    """
    texts = {tool.name: signature_text(tool) for tool in tools}
    choices = Counter(part for text in texts.values() for part in _choices(text))
    shared = {
        part: f"Choice{at}"
        for at, part in enumerate((each for each in choices if _is_worth(each, choices)), 1)
    }
    texts = {
        tool: _STRINGS.sub(lambda found: shared.get(found[0], found[0]), text)
        for tool, text in texts.items()
    }
    types, texts = _shared_types(texts)
    return types | {name: part for part, name in shared.items()}, texts


def _choices(text: str) -> Iterator[str]:
    """Yield the choices of texts in `text`: `"a" | "b"`."""
    return (found[0] for found in _STRINGS.finditer(text) if found[1])


def _is_worth(part: str, counts: Mapping[str, int]) -> bool:
    """Return whether a name for `part` makes the whole shorter."""
    return counts[part] > 1 and len(part) > _WORTH_A_CHOICE


def _shared_types(texts: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the object types that several of `texts` share, by name, and the texts with them."""
    counts = Counter(part for text in texts.values() for part in _objects(text))
    shared: dict[str, str] = {}
    # the longest first: their parts are then shared less often, or not at all
    for part in sorted(counts, key=lambda each: (-len(each), each)):
        if len(part) < _WORTH_A_NAME or sum(part in each for each in texts.values()) < 2:
            continue
        name = f"Type{len(shared) + 1}"
        shared[name] = part
        texts = {tool: text.replace(part, name) for tool, text in texts.items()}
    # a longer type may hold a shorter one, which has a later name
    for name, part in shared.items():
        for other in shared:
            if other != name:
                shared[other] = shared[other].replace(part, name)
    return shared, texts


def _objects(text: str) -> Iterator[str]:
    """Yield the object types in `text`, inner ones too."""
    opened: list[int] = []
    quoted = False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char == "{":
            opened.append(at)
        elif char == "}" and opened:
            yield text[opened.pop() : at + 1]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + " …"


def _fields(schema: Schema, scope: _Scope) -> str:
    """Return the properties that `schema` declares, in declared order."""
    node = schema.node
    properties = node.get("properties") if isinstance(node, dict) else None
    if not isinstance(properties, dict):
        text = _type(schema, node, scope)
        return "" if text in ("{}", "any") else f"**{text}"
    needed = set(required(schema))
    return _named(schema, properties, needed, scope)


def _named(
    schema: Schema,
    properties: dict[str, Json],
    needed: set[str],
    scope: _Scope,
) -> str:
    parts = [
        f"{_name(name)}{'' if name in needed else '?'}: {_type(schema, node, scope.below())}"
        for name, node in list(properties.items())[:_NAMES]
    ]
    if len(properties) > _NAMES:
        parts.append("…")
    return ", ".join(parts)


def _name(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _type(schema: Schema, node: Json, scope: _Scope) -> str:
    """Return the type that `node`, a part of `schema`, describes."""
    if node is False:
        return "nothing"
    if not isinstance(node, dict):
        return "any"
    if id(node) in scope.seen or scope.depth < 0:
        return "…"
    inside = replace(scope, seen=scope.seen | {id(node)})
    if "$ref" in node:
        target = schema.target(node["$ref"])
        return "any" if target is None else _type(schema, target, inside)
    for keyword in ("enum", "anyOf", "oneOf"):
        parts = node.get(keyword)
        if isinstance(parts, list) and parts:
            if keyword == "enum":
                return _values(parts)
            found = (_type(schema, each, inside) for each in parts)
            return " | ".join(dict.fromkeys(found))
    if "const" in node:
        return _values([node["const"]])
    if isinstance(parts := node.get("allOf"), list) and parts and "type" not in node:
        return " & ".join(dict.fromkeys(_type(schema, each, inside) for each in parts))
    stated = node.get("type")
    kinds = stated if isinstance(stated, list) else [stated]
    return " | ".join(_of_kind(schema, node, kind, inside) for kind in kinds)


def _values(values: list[Json]) -> str:
    shown = " | ".join(json.dumps(each, ensure_ascii=False) for each in values[:_VALUES])
    return shown if len(values) <= _VALUES else f"{shown} | …"


def _of_kind(schema: Schema, node: dict[str, Json], kind: Json, scope: _Scope) -> str:
    match kind:
        case "array":
            return f"[{_type(schema, node.get('items', True), scope)}]"
        case "object":
            return _object(schema, node, scope)
        case "string":
            return _FORMATS.get(str(node.get("format")), "str")
        case "integer" | "number":
            return _SHORT.get(kind, kind) + (_bounds(node) if scope.bounds else "")
        case str():
            return _SHORT.get(kind, "any")
        case _:
            return _object(schema, node, scope) if "properties" in node else "any"


def _object(schema: Schema, node: dict[str, Json], scope: _Scope) -> str:
    properties = node.get("properties")
    if not isinstance(properties, dict) or not properties:
        values = node.get("additionalProperties")
        if isinstance(values, dict):
            return f"{{*: {_type(schema, values, scope.below())}}}"
        return "{}"
    if scope.depth <= 0:
        return "{…}"
    stated = node.get("required")
    needed = {each for each in stated if isinstance(each, str)} if isinstance(stated, list) else ()
    return f"{{{_named(schema, properties, set(needed), scope)}}}"


def _bounds(node: dict[str, Json]) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if least is None and most is None:
        return ""
    return f" {'' if least is None else least}..{'' if most is None else most}"
