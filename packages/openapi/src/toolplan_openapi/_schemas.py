"""Schemas of a document as JSON Schemas of tools: each on its own, and none without end.

OpenAPI 3.0 has a dialect of its own, and the schemas of a document refer to each other in rings.
Every part that is referred to becomes a definition, converted when it is first met and shared by
all tools; a tool's schema takes along those that it can reach, the near ones first. What lies too
far is left open: then nothing is said of it, which is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import escape_pointer
from toolplan.tools import ToolObjectError
from toolplan_openapi._document import Document, Node, Place, Unusable

LONGEST_DESCRIPTION: Final = 500

MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE: Final = ("not", "if", "then", "else")
SINGLE: Final = frozenset({
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
    "contains", *IN_PLACE,
})  # fmt: skip

OPERATION_HINTS: Final = ("x-entity", "x-verb", "x-synonyms", "x-aliases", "x-order", "x-pages")
"""The hints of `docs/hints.md` that speak of a tool; an operation carries them."""

_PLAIN: Final = frozenset({
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems",
    "maxContains", "minContains", "maxProperties", "minProperties", "required",
    "dependentRequired", "format", "default", "description", "examples", *OPERATION_HINTS, "x-cue",
    "x-field", "x-gazetteer", "x-kind", "x-literal", "x-ref", "x-role", "x-part-of", "x-unit",
    "x-values",
})  # fmt: skip
MEANING: Final = (
    frozenset(each for each in _PLAIN if not each.startswith("x-"))
    | MAPS
    | LISTS
    | SINGLE
    | {"$ref", "$dynamicRef", "nullable", "discriminator", "dependencies", "definitions", "$defs"}
)
"""Keywords that say what a value is. As in JSON Schema, those that are not known say nothing."""
_CHECKED_IN_RESPONSES: Final = ("date", "date-time", "time")
_ANNOTATIONS: Final = frozenset({"description", "default", "examples"})
_LONGEST_EXAMPLE: Final = 100


def plain_keywords(raw: Node, *, for_response: bool) -> Node:
    """Return the known keywords of `raw`, without its sub-schemas.

    In responses only the formats of times are kept: services take `email` and `uri` lightly, and
    a result is not to be lost to that.
    """
    made: Node = {key: value for key, value in raw.items() if key in _PLAIN}
    _read_exclusive(made, "exclusiveMinimum", "minimum")
    _read_exclusive(made, "exclusiveMaximum", "maximum")
    if isinstance(text := made.get("description"), str):
        made["description"] = shortened(text)
    if for_response and made.get("format") not in _CHECKED_IN_RESPONSES:
        made.pop("format", None)
    examples = made.pop("examples", [raw["example"]] if "example" in raw else None)
    if isinstance(examples, list) and (short := [e for e in examples if _is_short(e)]):
        made["examples"] = short
    return made


def is_annotation(node: Node) -> bool:
    """Return whether `node` only describes a value, and refuses none."""
    return all(key in _ANNOTATIONS or key.startswith("x-") for key in node)


def shortened(text: str) -> str:
    """Return `text` in one line, cut after so many characters as a tool's text may have."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DESCRIPTION else line[: LONGEST_DESCRIPTION - 3] + "..."


def as_nullable(node: Node) -> Node:
    """Return `node` such that null fits too (`nullable` of OpenAPI 3.0)."""
    wider = dict(node)
    if "$ref" not in node and not any(name in node for name in (*IN_PLACE_LISTS, "const")):
        types = node.get("type")
        if isinstance(types, str):
            wider["type"] = [types, "null"]
        elif isinstance(types, list) and "null" not in types:
            wider["type"] = [*types, "null"]
        if isinstance(values := node.get("enum"), list) and None not in values:
            wider["enum"] = [*values, None]
        return wider
    rest = wider.pop("description", None)
    either: Node = {"anyOf": [wider, {"type": "null"}]}
    return {**either, "description": rest} if rest is not None else either


def alternatives_by_discriminator(
    made: Node, raw: Node, names: Mapping[str, tuple[str, ...]]
) -> Node:
    """Return `made` with its `oneOf` distinguished by a property, as `discriminator` of `raw` says.

    Alternatives may fit the same value besides; so one that fits is enough. `names` are, by the
    reference of an alternative, the values of the property that stand for it; an alternative that
    is not in it goes by the name of its definition.
    """
    stated = raw["discriminator"]
    name = stated.get("propertyName") if isinstance(stated, dict) else None
    options = made.get("oneOf")
    if not isinstance(name, str) or not isinstance(options, list):
        return made
    rest = {key: value for key, value in made.items() if key != "oneOf"}
    return {**rest, "anyOf": [_discriminated(option, name, names) for option in options]}


def _discriminated(option: Json, name: str, names: Mapping[str, tuple[str, ...]]) -> Json:
    reference = option.get("$ref") if isinstance(option, dict) else None
    if not isinstance(reference, str) or not isinstance(option, dict):
        return option
    values: list[Json] = [*names.get(reference, (reference.rpartition("/")[2],))]
    return {
        "allOf": [option, {"properties": {name: {"enum": values}}, "required": [name]}],
    }


def _read_exclusive(made: Node, exclusive: str, inclusive: str) -> None:
    """Read the boolean of OpenAPI 3.0 that says whether the bound itself is out."""
    stated = made.get(exclusive)
    if isinstance(stated, bool):
        del made[exclusive]
        if stated and inclusive in made:
            made[exclusive] = made.pop(inclusive)


def _is_short(example: Json) -> bool:
    return isinstance(example, int | float) or (
        isinstance(example, str) and len(example) <= _LONGEST_EXAMPLE
    )


MAX_PARTS: Final = 4_000
"""How many JSON values a tool's schema takes along; definitions beyond are left open."""

MAX_WORK: Final = 5_000_000
"""How many parts of one document are converted, all tools together."""

_MAX_NESTING: Final = 24
_REFERENCE: Final = "#/$defs/"


class Use(StrEnum):
    """Whether a schema speaks of what is sent or of what comes back."""

    REQUEST = "request"
    RESPONSE = "response"


class _Definition(Struct):
    """A converted part: what it refers to, and how many JSON values it has."""

    node: Json
    references: tuple[str, ...] = ()
    size: int = 1
    settled: bool = False


class Schemas:
    """The schemas of `document`, converted when they are first asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._definitions: dict[tuple[Use, str], _Definition] = {}
        self._closures: dict[tuple[Use, tuple[str, ...]], Node] = {}
        self._work = 0

    def node(self, place: Place, use: Use) -> Json:
        """Return the schema at `place` with its references reading `#/$defs/NAME`.

        It is a part of a schema: `whole` makes one of its own of what it is put into.

        Raises:
            RemoteReference: it refers to what is outside of the document.
            Unusable: it refers to what is not there.
        """
        return self._converted(place.value, place.pointer, use, 0)

    def whole(self, node: Json, use: Use) -> Json:
        """Return `node`, made of parts that `node()` gave, with the definitions that it needs.

        A reference at its root is written out, so that what it names is seen at first sight.

        Raises: as `node`.
        """
        if not isinstance(node, dict):
            return node
        while isinstance(reference := node.get("$ref"), str):
            definition = self._settled(_name_in(reference), use)
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            if not isinstance(definition.node, dict) or not is_annotation(siblings):
                break
            node = {**definition.node, **siblings}
        definitions = self._reachable(node, use)
        return {**node, "$defs": definitions} if definitions else node

    def _reachable(self, node: Node, use: Use) -> Node:
        """Return the definitions that `node` leads to, those of few hops first."""
        first = _references(node)
        known = self._closures.get((use, first))
        if known is not None:
            return known
        found: Node = {}
        room = MAX_PARTS
        level = list(first)
        while level:
            below: dict[str, None] = {}
            for name in level:
                if name in found:
                    continue
                definition = self._settled(name, use)
                room -= definition.size
                if room < 0:
                    found[name] = {}
                    continue
                found[name] = definition.node
                below.update(dict.fromkeys(definition.references))
            level = list(below)
        self._closures[use, first] = found
        return found

    def _settled(self, name: str, use: Use) -> _Definition:
        """Return the definition `name` with no way through its alternatives back to itself."""
        definition = self._defined(name, use)
        if not definition.settled:
            try:
                self._settle(name, use, [])
            except RecursionError:
                raise Unusable(self._pointers[name], "It is built of too many parts.") from None
        return definition

    def _settle(self, name: str, use: Use, open_: list[str]) -> None:
        definition = self._defined(name, use)
        if definition.settled:
            return
        open_.append(name)
        rings: set[str] = set()
        for reference in _references(definition.node, in_place=True):
            if reference in open_:
                rings.add(reference)
            else:
                self._settle(reference, use, open_)
        open_.pop()
        if rings:
            definition.node = _without(definition.node, rings)
            definition.references = _references(definition.node)
        definition.settled = True

    def _defined(self, name: str, use: Use) -> _Definition:
        key = (use, name)
        found = self._definitions.get(key)
        if found is None:
            # known before it is converted, because it may refer to itself
            found = self._definitions[key] = _Definition({})
            before = self._work
            place = self._document.target(f"#{self._pointers[name]}", self._pointers[name])
            found.node = self._converted(place.value, place.pointer, use, 0)
            found.size = self._work - before
            found.references = _references(found.node)
        return found

    def _name(self, pointer: str) -> str:
        name = self._names.get(pointer)
        if name is None:
            wanted = re.sub(r"[^A-Za-z0-9_.-]+", "_", pointer.rpartition("/")[2])[:80] or "part"
            name, number = wanted, 1
            while name in self._pointers:
                number += 1
                name = f"{wanted}_{number}"
            self._names[pointer] = name
            self._pointers[name] = pointer
        return name

    def _converted(self, raw: Json, pointer: str, use: Use, depth: int) -> Json:
        """Return the schema `raw`; what is not a schema is left as it is, and the tool says so."""
        self._work += 1
        if self._work > MAX_WORK:
            raise ToolObjectError(f"Its schemas have more than {MAX_WORK} parts.")
        if not isinstance(raw, dict):
            return raw
        if depth > _MAX_NESTING:
            return {}
        made = plain_keywords(raw, for_response=use is Use.RESPONSE)
        self._work += sum(_size(value) for value in made.values())
        if "$ref" in raw:
            target = self._document.target(raw["$ref"], pointer)
            made["$ref"] = _REFERENCE + self._name(target.pointer)
        for keyword, value in raw.items():
            inner = self._inner(keyword, value, f"{pointer}/{keyword}", use, depth + 1)
            if inner is not None:
                made[keyword] = inner
        _drop_one_sided(made, raw, use)
        if "discriminator" in raw and isinstance(raw.get("oneOf"), list):
            made = alternatives_by_discriminator(made, raw, self._names_by_branch(raw, pointer))
        return as_nullable(made) if raw.get("nullable") is True else made

    def _inner(self, keyword: str, value: Json, pointer: str, use: Use, depth: int) -> Json:
        match value:
            case dict() if keyword in MAPS:
                return {
                    name: self._converted(each, f"{pointer}/{escape_pointer(name)}", use, depth)
                    for name, each in value.items()
                }
            case list() if keyword in LISTS:
                return [
                    self._converted(each, f"{pointer}/{at}", use, depth)
                    for at, each in enumerate(value)
                ]
            case dict() | bool() if keyword in SINGLE:
                return self._converted(value, pointer, use, depth)
            case _:
                return None

    def _names_by_branch(self, raw: Node, pointer: str) -> Mapping[str, tuple[str, ...]]:
        """Return by definition the values of the discriminator that name it."""
        property_ = raw["discriminator"]
        stated = property_.get("mapping") if isinstance(property_, dict) else None
        found: dict[str, list[str]] = {}
        for value, target in stated.items() if isinstance(stated, dict) else ():
            if not isinstance(target, str):
                continue
            # a mapping may name a schema by its bare name
            bare = re.fullmatch(r"[A-Za-z0-9_.-]+", target)
            reference = f"#/components/schemas/{target}" if bare else target
            try:
                place = self._document.target(reference, pointer)
            except Unusable:
                continue  # it names nothing, so it distinguishes nothing
            found.setdefault(_REFERENCE + self._name(place.pointer), []).append(value)
        return {reference: tuple(values) for reference, values in found.items()}


def _drop_one_sided(made: Node, raw: Node, use: Use) -> None:
    """Leave out of `made` the properties that only the other side writes."""
    properties = raw.get("properties")
    if not isinstance(properties, dict):
        return
    keyword = "readOnly" if use is Use.REQUEST else "writeOnly"
    dropped = {
        name
        for name, each in properties.items()
        if isinstance(each, dict) and each.get(keyword) is True
    }
    if not dropped:
        return
    kept = made.get("properties")
    if isinstance(kept, dict) and use is Use.REQUEST:
        made["properties"] = {name: node for name, node in kept.items() if name not in dropped}
    if isinstance(required := made.get("required"), list):
        made["required"] = [name for name in required if str(name) not in dropped]


def _name_in(reference: str) -> str:
    return reference.removeprefix(_REFERENCE)


def _size(value: Json) -> int:
    match value:
        case dict():
            return 1 + sum(map(_size, value.values()))
        case list():
            return 1 + sum(map(_size, value))
        case _:
            return 1


def _references(node: Json, *, in_place: bool = False) -> tuple[str, ...]:
    """Return the names of the definitions that `node` refers to, outermost first.

    With `in_place` only those that speak about the same value as `node`.
    """
    found: dict[str, None] = {}
    level: list[Json] = [node]
    while level:
        schemas = [each for each in level if isinstance(each, dict)]
        level = []
        for each in schemas:
            if isinstance(reference := each.get("$ref"), str):
                found[_name_in(reference)] = None
            level += _in_place(each) if in_place else _sub_schemas(each)
    return tuple(found)


def _sub_schemas(node: Node) -> Iterator[Json]:
    for keyword, value in node.items():
        match value:
            case dict() if keyword in MAPS:
                yield from value.values()
            case list() if keyword in LISTS:
                yield from value
            case dict() if keyword in SINGLE:
                yield value
            case _:
                pass


def _in_place(node: Node) -> Iterator[Json]:
    kept = (*IN_PLACE_LISTS, *IN_PLACE, "dependentSchemas")
    yield from _sub_schemas({keyword: node[keyword] for keyword in kept if keyword in node})


def _without(node: Json, rings: set[str]) -> Json:
    """Return `node` without the references to `rings` that speak about its own value."""
    if not isinstance(node, dict):
        return node
    made: Node = {}
    for keyword, value in node.items():
        match value:
            case str() if keyword == "$ref" and _name_in(value) in rings:
                continue
            case list() if keyword in IN_PLACE_LISTS:
                made[keyword] = [_without(each, rings) for each in value]
            case dict() if keyword in IN_PLACE:
                made[keyword] = _without(value, rings)
            case dict() if keyword == "dependentSchemas":
                made[keyword] = {name: _without(each, rings) for name, each in value.items()}
            case _:
                made[keyword] = value
    return made
