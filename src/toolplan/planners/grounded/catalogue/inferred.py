"""Hints that names say: `customer_id` is the identity of what some tool lists as customers.

Only tools without hints that read get them, and only where a tool lists or gets such things.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.kinds import Verb, name_of_kind
from toolplan.planners.grounded.catalogue.schemas import Node, as_node
from toolplan.planners.grounded.language import words
from toolplan.tools import Effects, Tool

_PLACES = words.word_set("city town location place country region state")
_PEOPLE = words.word_set("author artist director writer composer owner manager agent")
_READING = (Verb.LIST, Verb.GET)
_BE = ("is", "are", "was", "were")
_DEEPEST = 4


def infer_hints(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return `tools`, those without hints with what their names say."""
    found = tuple(tools)
    named = [name_of_kind(tool.name) for tool in found]
    kinds = frozenset(entity for verb, entity in named if entity and verb in _READING)
    return tuple(
        _hinted(tool, entity, kinds) if verb in _READING and _is_plain(tool) else tool
        for tool, (verb, entity) in zip(found, named, strict=True)
    )


def _is_plain(tool: Tool) -> bool:
    """Return whether it has no hints, and no label says that it changes something."""
    labelled = tool.effects in (Effects.WRITE, Effects.DESTRUCTIVE)
    return not labelled and tool.unusable is None and "x-entity" not in as_node(tool.raw_input)


def _hinted(tool: Tool, entity: str | None, kinds: frozenset[str]) -> Tool:
    own = entity if entity in kinds else None
    given = _with_hints(dict(as_node(tool.raw_input)), own, kinds, arguments=True)
    gives = _with_hints(tool.raw_output, own, kinds, arguments=False)
    return replace(tool, raw_input=given, raw_output=gives)


def _with_hints(
    value: Json, own: str | None, kinds: frozenset[str], *, arguments: bool, depth: int = 0
) -> Json:
    """Return the schema `value` with hints at its properties."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    result = dict(value)
    if isinstance(declared := value.get("properties"), dict):
        result["properties"] = {
            name: _property(name, each, own, kinds, arguments) for name, each in declared.items()
        }
    for keyword in ("items", "$defs"):
        inner = value.get(keyword)
        if keyword == "$defs" and isinstance(inner, dict):
            result[keyword] = {
                name: _with_hints(each, own, kinds, arguments=arguments, depth=depth + 1)
                for name, each in inner.items()
            }
        elif isinstance(inner, dict):
            result[keyword] = _with_hints(inner, own, kinds, arguments=arguments, depth=depth + 1)
    return result


def _property(name: str, raw: Json, own: str | None, kinds: frozenset[str], argument: bool) -> Json:
    node: Node = as_node(raw)
    if not node or any(keyword.startswith("x-") for keyword in node):
        return raw
    parts = words.keys(name)
    if not argument and node.get("type") == "boolean" and parts:
        return {**node, "x-values": _truths(name)}
    if parts == ("id",) and own is not None:
        return {**node, "x-ref": f"{own}.id"}
    if len(parts) == 2 and parts[1] == "id" and parts[0] in kinds:
        return {**node, "x-ref": f"{parts[0]}.id"}
    if argument and len(parts) == 1 and "enum" not in node:
        if parts[0] in _PLACES:
            return {**node, "x-kind": "place", "x-cue": ["in"]}
        if parts[0] in _PEOPLE:
            return {**node, "x-kind": "person", "x-cue": ["by"]}
    return raw


def _truths(name: str) -> dict[str, Json]:
    """Return the words for true and false: "remote" of `is_remote`, "with a pool" of `has_pool`."""
    first, _, rest = name.replace("_", " ").casefold().partition(" ")
    if first == "has" and rest:
        return {"true": [f"with {rest}"], "false": [f"without {rest}"]}
    said = rest if first in _BE and rest else f"{first} {rest}".strip()
    return {"true": [said], "false": [f"not {said}", f"non {said}"]}
