"""The document as it came in, and the references inside of it. Nothing outside is ever fetched.

What reads a part of it raises RemoteReference where a reference leads out of the document, and
Unusable where the part cannot be used.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Final, TypeAlias, TypeVar
from urllib.parse import unquote

from msgspec import Struct

from toolplan.plan.model import escape_pointer, split_pointer
from toolplan.plan.path import Json
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
        """Yield the elements of the part as a list."""
        return (self.at(at) for at in range(len(self.items)))

    def text(self, key: str) -> str:
        """Return the string under `key`, an empty one where there is none."""
        value = self.node.get(key)
        return value if isinstance(value, str) else ""

    def followed(self) -> Place:
        """Return what this stands for: itself, or what its `$ref` leads to in the end."""
        place = self
        for _ in range(_MOST_HOPS):
            if "$ref" not in place.node:
                return place
            place = place.target(place.node["$ref"])
        raise Unusable(self.pointer, "Its '$ref' leads in a ring.")

    def target(self, reference: Json) -> Place:
        """Return what `reference`, a `$ref` that stands here, names."""
        if not isinstance(reference, str):
            raise Unusable(self.pointer, "Its '$ref' is not text.")
        if not reference.startswith("#"):
            raise RemoteReference(
                f"{self.pointer}: it refers to {_short(reference)!r}, and nothing outside of the "
                "document is ever fetched. Bundle the document into one file."
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            said = f"Its '$ref' {_short(reference)!r} is not a JSON pointer."
            raise Unusable(self.pointer, said)
        place = Place.of(self.root).at(*split_pointer(fragment))
        if place.value is None:
            said = f"It refers to {_short(reference)!r}, which is not in the document."
            raise Unusable(self.pointer, said)
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
    """Return the one of `known` that is `stated`, None where there is none."""
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
