"""Schemas with references and combinations written out, for readers that check nothing."""

from __future__ import annotations

from functools import reduce
from typing import Final

from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json

MOST_DEPTH: Final = 16
MOST_NODES: Final = 5_000
"""Maximum number of nodes that are written out; a schema that repeats itself has more."""

_WRITTEN_OUT: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf"))
_Node = dict[str, Json]


def flat(raw: Json) -> _Node:
    """Return a schema with local references, and combinations for one value, written out.

    `{"anyOf": [{"type": "string"}, {"type": "null"}]}` becomes `{"type": ["string", "null"]}`. What
    is too deep, too large, or refers elsewhere, becomes `{}`: nothing is known of it.
    """
    left = MOST_NODES

    def node(part: Json, depth: int) -> _Node:
        nonlocal left
        left -= 1
        if not isinstance(part, dict) or depth > MOST_DEPTH or left < 0:
            return {}
        own = {name: value for name, value in part.items() if name not in _WRITTEN_OUT}
        if isinstance(inner := own.get("properties"), dict):
            own["properties"] = {name: node(each, depth + 1) for name, each in inner.items()}
        if isinstance(own.get("items"), dict):
            own["items"] = node(own["items"], depth + 1)
        either = [each for each in (part.get("oneOf"), part.get("anyOf")) if isinstance(each, list)]
        others = [_joined([node(one, depth + 1) for one in each]) for each in either]
        if isinstance(given := part.get("allOf"), list):
            others += [node(one, depth + 1) for one in given]
        if isinstance(reference := part.get("$ref"), str):
            others.append(node(_target(raw, reference), depth + 1))
        return reduce(_both, (*others, own))

    return node(raw, 0)


def types_stated(node: _Node) -> frozenset[str]:
    """Return the JSON types that a flat schema states; none where it states none."""
    stated = node.get("type")
    if isinstance(stated, str):
        return frozenset((stated,))
    if isinstance(stated, list):
        return frozenset(each for each in stated if isinstance(each, str))
    if "properties" in node:
        return frozenset(("object",))
    return frozenset(("array",)) if "items" in node else frozenset()


def _target(root: Json, reference: str) -> Json:
    found = root if reference.startswith("#") else None
    for key in split_pointer(reference[1:]):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _both(one: _Node, other: _Node) -> _Node:
    """Return what describes a value that two schemas accept; `other` goes before `one`."""
    made = {**one, **other}
    if "properties" in one and "properties" in other:
        made["properties"] = _fields([one, other])
    return made


def _joined(alternatives: list[_Node]) -> _Node:
    """Return what describes a value that one of several schemas accepts.

    Of several that are not null, only the parts that the value may have are known.
    """
    others = [each for each in alternatives if each.get("type") != "null"]
    joined = dict(others[0]) if len(others) == 1 else {}
    if len(others) > 1:
        joined = next(({"items": each["items"]} for each in others if "items" in each), joined)
        if fields := _fields(others):
            joined["properties"] = fields
    joined.pop("type", None)
    if all("type" in each for each in alternatives):
        listed = [t if isinstance(t := each["type"], list) else [t] for each in alternatives]
        kinds = [*dict.fromkeys(str(kind) for each in listed for kind in each)]
        joined["type"] = kinds[0] if len(kinds) == 1 else [*kinds]
    return joined


def _fields(nodes: list[_Node]) -> _Node:
    stated = [each.get("properties") for each in nodes]
    return {k: v for each in stated if isinstance(each, dict) for k, v in each.items()}
