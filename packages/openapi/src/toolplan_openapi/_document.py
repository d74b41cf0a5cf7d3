"""The document as it came in, and the references inside of it. Nothing outside is ever fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, TypeVar
from urllib.parse import unquote

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import escape_pointer
from toolplan.tools import ToolObjectError

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
    """A part of the document, and the JSON pointer that leads to it."""

    value: Json
    pointer: str

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
        place = self
        for key in keys:
            if isinstance(key, int):
                found = place.items[key] if key < len(place.items) else None
            else:
                found = place.node.get(key)
            place = Place(found, f"{place.pointer}/{escape_pointer(str(key))}")
        return place

    def each(self) -> Iterator[Place]:
        """Yield the elements of the part as a list."""
        return (self.at(at) for at in range(len(self.items)))

    def text(self, key: str) -> str:
        """Return the string under `key`, an empty one where there is none."""
        value = self.node.get(key)
        return value if isinstance(value, str) else ""


class Document:
    """An OpenAPI document: a root, and what its references lead to."""

    def __init__(self, root: Json) -> None:
        """Hold `root`.

        Raises:
            ToolObjectError: it is not an OpenAPI document of a version that is read.
        """
        self.root = Place(root, "")
        version = self.root.text("openapi")
        if not version.startswith(_READ_VERSIONS):
            raise ToolObjectError(_not_read(self.root, version))

    def follow(self, place: Place) -> Place:
        """Return what `place` stands for: itself, or what its `$ref` leads to in the end.

        Raises:
            RemoteReference: it leads out of the document.
            Unusable: it leads nowhere, or in a ring.
        """
        start = place
        for _ in range(_MOST_HOPS):
            if "$ref" not in place.node:
                return place
            place = self.target(place.node["$ref"], place.pointer)
        raise Unusable(start.pointer, "Its '$ref' leads in a ring.")

    def target(self, reference: Json, pointer: str) -> Place:
        """Return what `reference`, the `$ref` at `pointer`, names.

        Raises:
            RemoteReference: it leads out of the document.
            Unusable: it leads nowhere.
        """
        if not isinstance(reference, str):
            raise Unusable(pointer, "Its '$ref' is not text.")
        if not reference.startswith("#"):
            raise RemoteReference(
                f"{pointer}: it refers to {_short(reference)!r}, and nothing outside of the "
                "document is ever fetched. Bundle the document into one file."
            )
        place = self.root
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            raise Unusable(pointer, f"Its '$ref' {_short(reference)!r} is not a JSON pointer.")
        for token in fragment.split("/")[1:]:
            place = _step(place, token.replace("~1", "/").replace("~0", "~"))
        if place.value is None:
            raise Unusable(
                pointer, f"It refers to {_short(reference)!r}, which is not in the document."
            )
        return place


def one_of(stated: str, known: Iterable[T]) -> T | None:
    """Return the one of `known` that is `stated`, None where there is none."""
    return next((each for each in known if each == stated), None)


def _step(place: Place, key: str) -> Place:
    if isinstance(place.value, list):
        number = int(key) if key.isascii() and key.isdigit() and len(key) < 9 else -1
        return place.at(number) if number >= 0 else Place(None, place.pointer)
    return place.at(key)


def _not_read(root: Place, version: str) -> str:
    if "swagger" in root.node:
        return (
            f"It is a Swagger {root.node['swagger']} document; OpenAPI 3.0 and 3.1 are read. "
            "Convert it first."
        )
    if not version:
        return "It is not an OpenAPI document: it has no 'openapi' that gives its version as text."
    return f"It is an OpenAPI {_short(version)!r} document; 3.0 and 3.1 are read."


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."
