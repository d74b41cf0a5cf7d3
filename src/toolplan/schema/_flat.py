"""Schemas with references and alternatives written out, for readers that check nothing."""

from __future__ import annotations

from typing import Final

from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json

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

    def node(self, raw: Json, depth: int) -> _Node:
        self._left -= 1
        if not isinstance(raw, dict) or depth > MOST_DEPTH or self._left < 0:
            return {}
        known = dict(raw)
        if isinstance(reference := known.pop("$ref", None), str):
            known = {**self.node(self._target(reference), depth + 1), **known}
        for keyword in ("anyOf", "oneOf"):
            if isinstance(given := known.pop(keyword, None), list):
                known = {**_joined([self.node(one, depth + 1) for one in given]), **known}
        if isinstance(inner := known.get("properties"), dict):
            known["properties"] = {name: self.node(each, depth + 1) for name, each in inner.items()}
        if isinstance(known.get("items"), dict):
            known["items"] = self.node(known["items"], depth + 1)
        return known

    def _target(self, reference: str) -> Json:
        found: Json = self._root if reference.startswith("#") else None
        for key in split_pointer(reference[1:]):
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _joined(alternatives: list[_Node]) -> _Node:
    """Return what describes a value that one of several schemas accepts."""
    others = [each for each in alternatives if each.get("type") != "null"]
    joined = dict(others[0]) if len(others) == 1 else {}
    if len(others) > 1:
        joined = next(({"items": each["items"]} for each in others if "items" in each), joined)
    kinds: dict[str, None] = {}
    for each in alternatives:
        given = each.get("type")
        listed = given if isinstance(given, list) else [given]
        kinds.update({kind: None for kind in listed if isinstance(kind, str)})
    return (
        {**joined, "type": next(iter(kinds)) if len(kinds) == 1 else [*kinds]} if kinds else joined
    )
