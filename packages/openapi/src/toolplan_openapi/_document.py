"""A document: its text read as JSON, and the references inside of it. Nothing outside is fetched.

Functions that read a part raise RemoteReference where a reference leaves the document, and
Unusable where the part cannot be used.

The text is JSON or YAML. In YAML, the type that a schema states decides what a scalar without
quotes says. YAML takes `1.0`, `true` and `null` for other things than text by their look. A schema
beside them knows better: `type: string, enum: [1.0]` means the text "1.0".
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Final, TypeAlias, TypeVar, cast
from urllib.parse import unquote

from msgspec import Struct

from toolplan.plan.exact_json import read_json
from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json, json_type
from toolplan.plan.yaml_text import Plain, YamlError, read_yaml
from toolplan.schema import value_types
from toolplan.schema.tool import ToolObjectError

Node: TypeAlias = dict[str, Json]
T = TypeVar("T", bound=str)

_MOST_HOPS: Final = 32
_READ_VERSIONS: Final = ("3.0", "3.1", "3.2")


class RemoteReference(ToolObjectError):
    """A document refers to something outside of itself; nothing was fetched."""


class Fault(Struct, frozen=True):
    """A part of a document that cannot be used: a JSON pointer to it, and why."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or 'The document'}: {self.message}"


class Unusable(Exception):
    """A part of a document cannot be used; the reader of its operation makes a `Fault` of it."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(pointer, message)


class Place(Struct, frozen=True):
    """A part of the document: its value, the JSON pointer that leads to it, and the document."""

    value: Json
    pointer: str
    root: Json

    @classmethod
    def of(cls, document: Json) -> Place:
        """Return all of a document."""
        return cls(document, "", document)

    @property
    def node(self) -> Node:
        """The part as an object; an empty one where it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Json]:
        """The part as a list; an empty one where it is none."""
        return self.value if isinstance(self.value, list) else []

    def at(self, *keys: str | int) -> Place:
        """Return the part of this part under `keys`; its value is None where there is none."""
        value, pointer = self.value, self.pointer
        for key in map(str, keys):
            pointer = f"{pointer}/{escape_pointer(key)}"
            match value:
                case dict():
                    value = value.get(key)
                case list() if key.isascii() and key.isdigit() and len(key) < 9:
                    value = value[int(key)] if int(key) < len(value) else None
                case _:
                    value = None
        return Place(value, pointer, self.root)

    def each(self) -> Iterator[Place]:
        return (self.at(at) for at in range(len(self.items)))

    def text(self, key: str) -> str:
        """Return the string under `key`, an empty one where there is none."""
        value = self.node.get(key)
        return value if isinstance(value, str) else ""

    def followed(self) -> Place:
        """Return this part, or the part that its chain of `$ref` ends at."""
        place = self
        for _ in range(_MOST_HOPS):
            if "$ref" not in place.node:
                return place
            place = place.target(place.node["$ref"])
        raise Unusable(self.pointer, "Its '$ref' leads in a ring.")

    def target(self, reference: Json) -> Place:
        """Return the part that `reference`, a `$ref` in this part, names."""
        if not isinstance(reference, str):
            raise Unusable(self.pointer, "Its '$ref' is not text.")
        if not reference.startswith("#"):
            raise RemoteReference(
                f"{self.pointer}: it refers to {_short(reference)!r}, and nothing outside of the "
                "document is ever fetched. Bundle the document into one file."
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            message = f"Its '$ref' {_short(reference)!r} is not a JSON pointer."
            raise Unusable(self.pointer, message)
        place = Place.of(self.root).at(*split_pointer(fragment))
        if place.value is None:
            message = f"It refers to {_short(reference)!r}, which is not in the document."
            raise Unusable(self.pointer, message)
        return place


def read_root(document: Json) -> Place:
    """Return all of an OpenAPI document."""
    root = Place.of(document)
    version = root.text("openapi")
    if version.startswith(_READ_VERSIONS):
        return root
    if "swagger" in root.node:
        raise ToolObjectError(
            f"It is a Swagger {root.node['swagger']} document; OpenAPI 3.0 and 3.1 are read. "
            "Convert it first."
        )
    if not version:
        raise ToolObjectError(
            "It is not an OpenAPI document: it has no 'openapi' that gives its version as text."
        )
    raise ToolObjectError(f"It is an OpenAPI {_short(version)!r} document; 3.0 and 3.1 are read.")


def one_of(stated: str, known: Iterable[T]) -> T | None:
    """Return the item of `known` that is `stated`, or None."""
    return next((each for each in known if each == stated), None)


def free_name(wanted: str, taken: Container[str], between: str = "_") -> str:
    """Return `wanted`, or it with a number behind, that is not `taken`."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}{between}{number}"
    return name


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."


MAX_TEXT: Final = 50_000_000
_MAX_DEPTH: Final = 200
VALUES: Final = frozenset({"enum", "const", "default", "example", "examples"})
TEXTS: Final = frozenset(
    {"description", "format", "name", "openapi", "operationId", "pattern", "propertyName",
     "summary", "title", "url", "version"}
)  # fmt: skip
LISTS_OF_TEXTS: Final = frozenset({"required", "tags"})
KEPT: Final = VALUES | TEXTS | LISTS_OF_TEXTS
"""Keywords whose plain scalars are read with their source text."""

_OF_SCHEMAS: Final = frozenset({"type", "$ref", "properties", "allOf", "anyOf", "oneOf"})
"""Keywords that tell a property named like a member of `VALUES` from the keyword itself."""


def read_document(text: str) -> Json:
    """Return the JSON value that `text` writes, in JSON or in YAML 1.2. Keys become text.

    In YAML, scalars without quotes take the type that their schema states.

    Raises:
        ToolObjectError: it is neither, or too large.
    """
    return read_with_faults(text)[0]


def read_with_faults(text: str) -> tuple[Json, tuple[str, ...]]:
    """Return the result of `read_document`, and sentences on scalars that fit no type stated."""
    if len(text) > MAX_TEXT:
        raise ToolObjectError(f"The document is longer than {MAX_TEXT} characters.")
    text = text.removeprefix("\ufeff")
    try:
        return read_json(text), ()
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            raise ToolObjectError(f"The document is not JSON: {error}.") from None
    try:
        read = read_yaml(text, max_depth=_MAX_DEPTH, plain_under=KEPT).value
    except YamlError as error:
        raise ToolObjectError(f"The document, line {error.line}: {error}") from None
    reader = _Scalars()
    return reader.settled(cast("_Unsettled", read)), tuple(reader.faults)


_Unsettled: TypeAlias = (
    "Plain | bool | int | float | str | list[_Unsettled] | dict[str, _Unsettled] | None"
)


class _Scalars:
    """Gives each plain scalar its value. `faults` name the lines of those that fit no type."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._seen: dict[int, Json] = {}

    def settled(self, node: _Unsettled) -> Json:
        """Return `node`, a part of the document, with its plain scalars settled."""
        match node:
            case Plain():
                return node.value
            case list() | dict() if id(node) in self._seen:  # an alias names it again
                return self._seen[id(node)]
            case list():
                items = self._seen[id(node)] = list[Json]()
                items.extend(map(self.settled, node))
                return items
            case dict():
                fields = self._seen[id(node)] = dict[str, Json]()
                fields.update((key, self._field(key, value, node)) for key, value in node.items())
                return fields
            case _:
                return node

    def _field(self, key: str, value: _Unsettled, node: dict[str, _Unsettled]) -> Json:
        if key in VALUES:
            if isinstance(value, list) and key in ("enum", "examples"):
                return [self._typed(each, node) for each in value]
            is_schema = isinstance(value, dict) and _OF_SCHEMAS & value.keys() and not _types(node)
            return self.settled(value) if is_schema else self._typed(value, node)
        if key in TEXTS and isinstance(value, Plain):
            return None if value.value is None else value.text
        if key in LISTS_OF_TEXTS and isinstance(value, list):
            return [each.text if isinstance(each, Plain) else self.settled(each) for each in value]
        return self.settled(value)

    def _typed(self, value: _Unsettled, schema: _Unsettled) -> Json:
        """Return data as its schema types it."""
        stated = schema if isinstance(schema, dict) else {}
        match value:
            case Plain():
                return self._scalar(value, _types(stated))
            case list():
                return [self._typed(each, stated.get("items")) for each in value]
            case dict():
                named = stated.get("properties")
                named = named if isinstance(named, dict) else {}
                return {key: self._typed(each, named.get(key)) for key, each in value.items()}
            case _:
                return value

    def _scalar(self, plain: Plain, types: frozenset[str]) -> Json:
        text, value = plain.text, plain.value
        if not types or types.intersection(value_types(value)):
            return value
        if value is None and text in ("", "~"):
            return value
        if "string" in types:
            return text
        if value is not None:
            kinds = " or ".join(sorted(types))
            what = f"{text[:100]!r} is {json_type(value)}, and its schema has the type {kinds}"
            self.faults.append(f"The document, line {plain.line}: {what}.")
        return value


def _types(schema: dict[str, _Unsettled]) -> frozenset[str]:
    """Return the types that a schema states; none where it states none."""
    stated = schema.get("type")
    listed = map(_word, stated if isinstance(stated, list) else [stated])
    found = frozenset(each for each in listed if isinstance(each, str))
    return found | {"null"} if found and _word(schema.get("nullable")) is True else found


def _word(stated: _Unsettled) -> object:
    return stated.value if isinstance(stated, Plain) else stated
