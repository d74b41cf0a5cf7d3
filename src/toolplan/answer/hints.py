"""Hints of output schemas for answers: entity, units, enums.

Nothing here raises: a tool may declare anything.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from toolplan.path import Every, Json, Path, Segment

_MOST_HOPS: Final = 8


class Hints(Struct, frozen=True):
    """A place in a schema.

    `nodes` are the schema at the place and those that it refers to (`$ref` within `root`, the first
    alternative that is not null), nearest first.
    """

    root: Json
    nodes: tuple[dict[str, Json], ...]

    @property
    def entity(self) -> str:
        """The kind of thing described (`x-entity`), or an empty text."""
        return self._text("x-entity")

    @property
    def unit(self) -> str:
        """The unit of a number (`x-unit`), or an empty text."""
        return self._text("x-unit")

    @property
    def refers(self) -> bool:
        """Whether the value is the identity of something (`x-ref`)."""
        return self._keyword("x-ref") is not None

    @property
    def values(self) -> tuple[str, ...]:
        """The allowed texts (`enum`) in declared order; empty if any is allowed."""
        enum = self._keyword("enum")
        return tuple(v for v in enum if isinstance(v, str)) if isinstance(enum, list) else ()

    @property
    def is_list(self) -> bool:
        """Whether a list is described."""
        return self._keyword("items") is not None or self._keyword("type") == "array"

    def inner(self, segment: Segment) -> Hints:
        """Return the place of a field, or of the elements of a list."""
        if isinstance(segment, int | Every):
            return hints(self._keyword("items"), self.root)
        properties = self._keyword("properties")
        return hints(properties.get(segment) if isinstance(properties, dict) else None, self.root)

    def at(self, path: Path) -> Hints:
        """Return the place at `path`."""
        place = self
        for segment in path:
            place = place.inner(segment)
        return place

    def _keyword(self, name: str) -> Json:
        return next((node[name] for node in self.nodes if name in node), None)

    def _text(self, name: str) -> str:
        value = self._keyword(name)
        return value if isinstance(value, str) else ""


NO_HINTS: Final = Hints(None, ())


def hints(schema: Json, root: Json = None) -> Hints:
    """Return the hints of `schema`; its `$ref` point into `root`, by default itself."""
    root = schema if root is None else root
    nodes: list[dict[str, Json]] = []
    node = schema
    while isinstance(node, dict) and len(nodes) < _MOST_HOPS:
        nodes.append(node)
        node = _referred(node, root)
    return Hints(root, tuple(nodes))


def _referred(node: dict[str, Json], root: Json) -> Json:
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        place = root
        for token in reference[2:].split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            place = place.get(key) if isinstance(place, dict) else None
        return place
    for name in ("anyOf", "oneOf", "allOf"):
        alternatives = node.get(name)
        if isinstance(alternatives, list):
            return next((each for each in alternatives if not _is_null(each)), None)
    return None


def _is_null(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
