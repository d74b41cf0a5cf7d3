"""Tool schemas read for what they say to a planner: types, values, and the `x-` hints.

Schemas come from anywhere, so nothing here trusts their shape: what is not as expected is as if it
had not been said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.path import Json, Path
from toolplan.planners.grounded.language.words import keys

Node: TypeAlias = Mapping[str, Json]

_DEEPEST: Final = 6


class Shape(Struct, frozen=True):
    """What a schema says of one value, be it an argument or a column.

    `types` are JSON types, those of a list's elements among them; `takes_one` and `takes_many` say
    whether it may be one such value or a list of them. `values` maps the JSON text of a value
    (`true`, or a string as it is) to phrases for it.
    """

    name: str
    types: frozenset[str]
    takes_one: bool
    takes_many: bool
    nullable: bool
    format: str | None
    pattern: str | None
    enum: tuple[str, ...]
    synonyms: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    cues: tuple[str, ...]
    gazetteer: tuple[str, ...]
    role: str | None
    field: str | None
    ref: str | None
    kind: str | None
    unit: str | None

    @property
    def cue_keys(self) -> frozenset[str]:
        """The words before a value of it, as keys."""
        return frozenset(" ".join(keys(cue)) for cue in self.cues)

    @property
    def is_boolean(self) -> bool:
        """Whether it is true or false."""
        return self.types == frozenset(["boolean"])

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return bool(self.types) and self.types <= {"number", "integer"}

    @property
    def is_date(self) -> bool:
        """Whether it is a day, or a moment."""
        return self.format in ("date", "date-time")

    @property
    def is_text(self) -> bool:
        """Whether it is text that is not a day."""
        return self.types == frozenset(["string"]) and not self.is_date


class Rows(Struct, frozen=True, dict=True):
    """Where the rows are in the output of a tool.

    `list_path` leads to the list of rows, or to the one record where `many` is False. `row` is the
    schema of a row, a part of `root`.
    """

    list_path: Path
    many: bool
    entity: str | None
    row: Node
    root: Node

    @cached_property
    def columns(self) -> Mapping[str, Shape]:
        """The shapes of the fields of a row."""
        return properties(self.row, self.root)


def as_node(value: Json) -> Node:
    """Return `value` as an object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def texts(value: Json) -> tuple[str, ...]:
    """Return the strings of the list `value`."""
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def text(value: Json) -> str | None:
    """Return `value` if it is a string."""
    return value if isinstance(value, str) else None


def properties(node: Node, root: Node) -> dict[str, Shape]:
    """Return the shapes of the properties of the object schema `node`, a part of `root`."""
    required = frozenset(texts(node.get("required")))
    declared = as_node(node.get("properties"))
    return {name: shape(name, raw, root, name in required) for name, raw in declared.items()}


def shape(name: str, raw: Json, root: Node, required: bool = True) -> Shape:
    """Read the schema `raw`, a part of `root`, of the property `name`."""
    branches = list(_branches(raw, root))
    hints: dict[str, Json] = {}
    for branch in reversed(branches):
        hints.update(branch)
    own: set[str] = set()
    inner: set[str] = set()
    nullable = not required
    for branch in branches:
        types = _types(branch)
        nullable = nullable or "null" in types
        own |= types - {"null", "array"}
        if "array" in types:
            for item in _branches(branch.get("items"), root):
                inner |= _types(item)
                hints = {**item, **hints}
    return Shape(
        name=name,
        types=frozenset(own or inner),
        takes_one=bool(own) or not inner,
        takes_many=bool(inner),
        nullable=nullable,
        format=text(hints.get("format")),
        pattern=text(hints.get("pattern")),
        enum=_enumerated(branches, hints),
        synonyms=texts(hints.get("x-synonyms")),
        values={value: texts(said) for value, said in as_node(hints.get("x-values")).items()},
        cues=texts(hints.get("x-cue")),
        gazetteer=texts(hints.get("x-gazetteer")),
        role=text(hints.get("x-role")),
        field=text(hints.get("x-field")),
        ref=text(hints.get("x-ref")),
        kind=text(hints.get("x-kind")),
        unit=text(hints.get("x-unit")),
    )


def rows(root: Node) -> Rows | None:
    """Find the rows in the output schema `root`: a list of objects, or one object."""
    return _list_of_objects(dict(root), root, ()) or _one_object(root)


def bare_rows(root: Node) -> Rows | None:
    """Find rows of which the output schema `root` says only that they are objects."""
    return _list_of_objects(dict(root), root, (), bare=True)


def _list_of_objects(
    raw: Json, root: Node, path: Path, depth: int = 0, *, bare: bool = False
) -> Rows | None:
    for node in _branches(raw, root):
        for item in _branches(node.get("items"), root):
            if "properties" in item or (bare and "object" in _types(item)):
                return Rows(path, True, text(item.get("x-entity")), item, root)
        if depth < 1:  # deeper lists belong to one record
            for name, inner in as_node(node.get("properties")).items():
                if found := _list_of_objects(inner, root, (*path, name), depth + 1, bare=bare):
                    return found
    return None


def _one_object(root: Node) -> Rows | None:
    for name, raw in as_node(root.get("properties")).items():
        for node in _branches(raw, root):
            if "properties" in node:
                entity = text(node.get("x-entity"))
                return Rows((name,), False, entity, node, root)
    if "properties" in root:
        return Rows((), False, text(root.get("x-entity")), root, root)
    return None


def _branches(raw: Json, root: Node, depth: int = 0) -> Iterator[Node]:
    """Yield `raw` and what it refers to or combines: alternatives are all of them possible."""
    node = as_node(raw)
    if not node or depth > _DEEPEST:
        return
    yield node
    if isinstance(reference := node.get("$ref"), str):
        yield from _branches(_target(reference, root), root, depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(parts := node.get(keyword), list):
            for part in parts:
                yield from _branches(part, root, depth + 1)


def _target(reference: str, root: Node) -> Json:
    if not reference.startswith("#/"):
        return None
    value: Json = dict(root)
    for token in reference[2:].split("/"):
        value = as_node(value).get(token.replace("~1", "/").replace("~0", "~"))
    return value


def _types(node: Node) -> set[str]:
    declared = node.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return set(texts(declared))
    if isinstance(listed := node.get("enum"), list) and listed:
        return {"string"} if all(isinstance(each, str) for each in listed) else set()
    return set()


def _enumerated(branches: list[Node], hints: Node) -> tuple[str, ...]:
    for branch in (*branches, hints):
        if found := texts(branch.get("enum")):
            return found
        if isinstance(only := branch.get("const"), str):
            return (only,)
    return ()
