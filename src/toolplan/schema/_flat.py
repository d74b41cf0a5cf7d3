"""Schemas with references and alternatives written out, for readers that check nothing."""

from __future__ import annotations

from typing import Final, cast

from toolplan.path import Json
from toolplan.plan import split_pointer

MOST_DEPTH: Final = 16
MOST_NODES: Final = 5_000
"""Maximum number of nodes that are written out; a schema that repeats itself has more."""

_Node = dict[str, Json]


def flat(raw: Json) -> Json:
    """Return a schema with local references, and alternatives of one value, written out.

    `{"anyOf": [{"type": "string"}, {"type": "null"}]}` becomes `{"type": ["string", "null"]}`. What
    is too deep, too large, or refers elsewhere, becomes `{}`: nothing is known of it.
    """
    return _Flat(raw).node(raw, 0)


class _Flat:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = MOST_NODES

    def node(self, raw: Json, depth: int) -> Json:
        self._left -= 1
        if not isinstance(raw, dict) or depth > MOST_DEPTH or self._left < 0:
            return {}
        known = self._one(dict(raw), depth)
        if isinstance(known.get("properties"), dict):
            inner = cast("_Node", known["properties"])
            known["properties"] = {name: self.node(each, depth + 1) for name, each in inner.items()}
        if isinstance(known.get("items"), dict):
            known["items"] = self.node(known["items"], depth + 1)
        return known

    def _one(self, node: _Node, depth: int) -> _Node:
        """Return a node without references and alternatives of its own."""
        if isinstance(reference := node.pop("$ref", None), str):
            node = {**cast("_Node", self.node(self._target(reference), depth + 1)), **node}
        for keyword in ("anyOf", "oneOf"):
            given = node.pop(keyword, None)
            if isinstance(given, list):
                each = [cast("_Node", self.node(one, depth + 1)) for one in given]
                node = {**_joined(each), **node}
        return node

    def _target(self, reference: str) -> Json:
        found: Json = self._root
        if not reference.startswith("#"):
            return None
        for key in split_pointer(reference[1:]):
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _joined(alternatives: list[_Node]) -> _Node:
    """Return what describes a value that one of several schemas accepts."""
    others = [each for each in alternatives if each.get("type") != "null"]
    types = dict.fromkeys(kind for each in alternatives for kind in _types(each))
    joined: _Node = dict(others[0]) if len(others) == 1 else {}
    if len(others) > 1:
        items = next((each["items"] for each in others if "items" in each), None)
        joined = {} if items is None else {"items": items}
    kinds: list[Json] = [*types]
    return {**joined, "type": kinds[0] if len(kinds) == 1 else kinds} if kinds else joined


def _types(node: _Node) -> list[str]:
    given = node.get("type")
    listed: list[Json] = given if isinstance(given, list) else [given]
    return [each for each in listed if isinstance(each, str)]
