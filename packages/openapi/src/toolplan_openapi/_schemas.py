"""Schemas of a document as JSON Schemas of tools: each self-contained and finite.

OpenAPI 3.0 has a dialect of its own, and the schemas of a document refer to each other in rings.
Every part that is referred to becomes a definition, converted when it is first met and shared by
all tools; a tool's schema takes along those that it can reach, the near ones first. Parts too far
away are left open: the schema then states nothing about them, which is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan_openapi._document import Node, Place, Unusable, free_name

LONGEST_DESCRIPTION: Final = 500

MAX_PARTS: Final = 4_000
"""Maximum number of JSON values in a tool's schema; definitions beyond are left open."""
MAX_WORK: Final = 5_000_000
"""Maximum number of parts of one document that are converted, all tools together."""
_MAX_NESTING: Final = 24
_REFERENCE: Final = "#/$defs/"

_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE: Final = frozenset({
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
    "contains", "not", "if", "then", "else",
})  # fmt: skip
_IN_PLACE: Final = frozenset({
    "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
})  # fmt: skip
"""Keywords whose schemas speak about the same value as the schema that they are in."""

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
    | _MAPS
    | _LISTS
    | _SINGLE
    | {"$ref", "$dynamicRef", "nullable", "discriminator", "dependencies", "definitions", "$defs"}
)
"""Keywords that constrain or describe a value. As in JSON Schema, unknown ones have no meaning."""
_CHECKED_IN_RESPONSES: Final = ("date", "date-time", "time")
_ANNOTATIONS: Final = frozenset({"description", "default", "examples"})
_LONGEST_EXAMPLE: Final = 100


class Use(StrEnum):
    """Whether a schema describes a request or a response."""

    REQUEST = "request"
    RESPONSE = "response"


class _Definition(Struct):
    """A converted part: the definitions it refers to, and its number of JSON values."""

    node: Json
    references: tuple[str, ...] = ()
    size: int = 1


class Schemas:
    """The schemas of `document`, converted when they are first asked for."""

    def __init__(self, root: Place) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._definitions: dict[tuple[Use, str], _Definition] = {}
        self._closures: dict[tuple[Use, tuple[str, ...]], Node] = {}
        self._work = 0
        self._open: list[str] = []
        """The definitions under way whose value is that of the part that is being converted."""

    def node(self, place: Place, use: Use) -> Json:
        """Return the schema at `place` with its references reading `#/$defs/NAME`.

        It is a part of a schema: `whole` makes the schema that contains it self-contained.
        """
        return self._converted(place.value, place.pointer, use, 0)

    def whole(self, node: Json, use: Use) -> Json:
        """Return `node`, made of parts that `node()` gave, with the definitions that it needs.

        A reference at its root is replaced by its definition, so that the type is seen at once.
        """
        if not isinstance(node, dict):
            return node
        while isinstance(reference := node.get("$ref"), str):
            definition = self._defined(reference.removeprefix(_REFERENCE), use)
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            only_describes = all(k in _ANNOTATIONS or k.startswith("x-") for k in siblings)
            if not isinstance(definition.node, dict) or not only_describes:
                break
            node = {**definition.node, **siblings}
        definitions = self._reachable(_references(node), use)
        return {**node, "$defs": definitions} if definitions else node

    def _reachable(self, first: tuple[str, ...], use: Use) -> Node:
        """Return the definitions that the names `first` lead to, those of few hops first."""
        if (use, first) in self._closures:
            return self._closures[use, first]
        found: Node = {}
        room = MAX_PARTS
        names = [*first]
        for name in names:  # it grows meanwhile
            if name in found:
                continue
            definition = self._defined(name, use)
            room -= definition.size
            found[name] = definition.node if room >= 0 else {}
            if room >= 0:
                names.extend(definition.references)
        self._closures[use, first] = found
        return found

    def _defined(self, name: str, use: Use) -> _Definition:
        """Return the definition `name` with no way through its alternatives back to itself."""
        found = self._definitions.get((use, name))
        if found is None:
            place = self._root.at(*split_pointer(self._pointers[name]))
            self._open.append(name)
            try:
                node = self._converted(place.value, place.pointer, use, 0)
            except RecursionError:
                raise Unusable(place.pointer, "It is built of too many parts.") from None
            finally:
                self._open.pop()
            found = _Definition(node, _references(node), _size(node))
            self._definitions[use, name] = found
        return found

    def _reference_to(self, reference: Json, pointer: str) -> str:
        """Return the `$ref` to the definition of the part that `reference`, at `pointer`, names."""
        target = replace(self._root, pointer=pointer).target(reference).pointer
        if target not in self._names:
            wanted = re.sub(r"[^A-Za-z0-9_.-]+", "_", target.rpartition("/")[2])[:80] or "part"
            name = self._names[target] = free_name(wanted, self._pointers)
            self._pointers[name] = target
        return _REFERENCE + self._names[target]

    def _converted(self, raw: Json, pointer: str, use: Use, depth: int) -> Json:
        """Return the schema `raw` converted; any other value unchanged, which the tool reports."""
        self._work += 1
        if self._work > MAX_WORK:
            raise ToolObjectError(f"Its schemas have more than {MAX_WORK} parts.")
        if not isinstance(raw, dict):
            return raw
        if depth > _MAX_NESTING:
            return {}
        made = _plain_keywords(raw, use)
        self._work += sum(map(_size, made.values()))
        if "$ref" in raw:
            reference = self._reference_to(raw["$ref"], pointer)
            name = reference.removeprefix(_REFERENCE)
            if name not in self._open:  # else it refers back to an enclosing definition
                made["$ref"] = reference
                if self._open:
                    self._defined(name, use)

        def converted(child: Json, way: str, keyword: str) -> Json:
            enclosing = self._open
            if keyword not in _IN_PLACE:
                self._open = []  # it speaks of another value
            try:
                return self._converted(child, f"{pointer}/{way}", use, depth + 1)
            finally:
                self._open = enclosing

        inner = _changed(raw, converted)
        made.update(inner)
        # what only the other side writes; in a response it is only not required
        keyword = "readOnly" if use is Use.REQUEST else "writeOnly"
        properties = Place.of(raw).at("properties")
        other = {name for name in properties.node if properties.at(name).node.get(keyword) is True}
        made = without_properties(made, other)
        if use is Use.RESPONSE and "properties" in inner:
            made["properties"] = inner["properties"]
        if "discriminator" in raw and "oneOf" in inner:
            self._discriminate(made, raw, pointer)
        return _nullable(made) if raw.get("nullable") is True else made

    def _discriminate(self, made: Node, raw: Node, pointer: str) -> None:
        """Distinguish the alternatives of `made` by a property; one that fits is enough then.

        An alternative that the mapping does not name goes by the name of its definition.
        """
        stated = replace(self._root, value=raw["discriminator"])
        if not (name := stated.text("propertyName")):
            return
        named: dict[str, list[Json]] = {}
        for value, target in stated.at("mapping").node.items():
            if not isinstance(target, str):
                continue
            # a mapping may name a schema by its bare name
            bare = re.fullmatch(r"[A-Za-z0-9_.-]+", target)
            try:
                reference = f"#/components/schemas/{target}" if bare else target
                named.setdefault(self._reference_to(reference, pointer), []).append(value)
            except Unusable:
                continue  # it names nothing, so it distinguishes nothing
        options: list[Json] = []
        alternatives = replace(self._root, value=raw["oneOf"]).each()
        converted = replace(self._root, value=made.pop("oneOf")).items
        for alternative, option in zip(alternatives, converted, strict=True):
            if "$ref" not in alternative.node:
                options.append(option)
                continue
            reference = self._reference_to(alternative.node["$ref"], pointer)
            values: list[Json] = named.get(reference, [reference.removeprefix(_REFERENCE)])
            tag: Node = {"properties": {name: {"enum": values}}, "required": [name]}
            options.append({"allOf": [option, tag]})
        made["anyOf"] = options


def _plain_keywords(raw: Node, use: Use) -> Node:
    """Return the known keywords of `raw`, without its sub-schemas.

    In responses only the formats of times are kept: services take `email` and `uri` lightly, and
    a result is not to be lost to that.
    """
    made: Node = {key: value for key, value in raw.items() if key in _PLAIN}
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.capitalize()}"
        stated = made.get(exclusive)
        if isinstance(stated, bool):  # OpenAPI 3.0
            del made[exclusive]
        if stated is True and bound in made:
            made[exclusive] = made.pop(bound)
    if isinstance(text := made.get("description"), str):
        made["description"] = shortened(text)
    if use is Use.RESPONSE and made.get("format") not in _CHECKED_IN_RESPONSES:
        made.pop("format", None)
    examples = made.pop("examples", [raw["example"]] if "example" in raw else None)
    if isinstance(examples, list):
        plain = [each for each in examples if isinstance(each, str | int | float)]
        short = [e for e in plain if not isinstance(e, str) or len(e) <= _LONGEST_EXAMPLE]
        made |= {"examples": [*short]} if short else {}
    return made


def shortened(text: str) -> str:
    """Return `text` in one line, cut to the length that a tool's text may have."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DESCRIPTION else line[: LONGEST_DESCRIPTION - 3] + "..."


def _nullable(node: Node) -> Node:
    """Return `node` such that null fits too (`nullable` of OpenAPI 3.0)."""
    if node.keys() & {"$ref", "allOf", "anyOf", "oneOf", "const"}:
        words: Node = {"description": node["description"]} if "description" in node else {}
        rest = {key: value for key, value in node.items() if key != "description"}
        return {"anyOf": [rest, {"type": "null"}], **words}
    wider = dict(node)
    types = node.get("type")
    if isinstance(types, str | list):
        listed: list[Json] = [types] if isinstance(types, str) else types
        wider["type"] = listed if "null" in listed else [*listed, "null"]
    if isinstance(values := node.get("enum"), list) and None not in values:
        wider["enum"] = [*values, None]
    return wider


def without_properties(schema: Node, names: Collection[str]) -> Node:
    """Return the schema of an object without the properties `names`."""
    made = dict(schema)
    if names and isinstance(properties := schema.get("properties"), dict):
        made["properties"] = {k: each for k, each in properties.items() if k not in names}
    if names and isinstance(required := schema.get("required"), list):
        made["required"] = [each for each in required if str(each) not in names]
    return made


def _size(value: Json) -> int:
    match value:
        case dict():
            return 1 + sum(map(_size, value.values()))
        case list():
            return 1 + sum(map(_size, value))
        case _:
            return 1


def _changed(node: Node, change: Callable[[Json, str, str], Json]) -> Node:
    """Return the keywords of `node` that hold schemas, each schema as `change` returns it.

    `change` is given a schema, the way from `node` to it as a pointer, and its keyword.
    """
    made: Node = {}
    for keyword, value in node.items():
        match value:
            case dict() if keyword in _MAPS:
                made[keyword] = {
                    name: change(each, f"{keyword}/{escape_pointer(name)}", keyword)
                    for name, each in value.items()
                }
            case list() if keyword in _LISTS:
                made[keyword] = [
                    change(each, f"{keyword}/{at}", keyword) for at, each in enumerate(value)
                ]
            case dict() | bool() if keyword in _SINGLE:
                made[keyword] = change(value, keyword, keyword)
            case _:
                pass
    return made


def _references(node: Json) -> tuple[str, ...]:
    """Return the names of the definitions that `node` refers to, outermost first."""
    found: dict[str, None] = {}
    level: list[Json] = [node]

    def below(child: Json, _way: str, _keyword: str) -> Json:
        deeper.append(child)
        return child

    while level:
        deeper: list[Json] = []
        for each in level:
            if isinstance(each, dict):
                if isinstance(reference := each.get("$ref"), str):
                    found[reference.removeprefix(_REFERENCE)] = None
                _changed(each, below)
        level = deeper
    return tuple(found)
