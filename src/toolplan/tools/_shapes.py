"""Shapes: which types, formats and fields results have had.

A shape holds no value. Shapes are folded from values and with each other; the outcome does not
depend on order or grouping. An object with more than `MOST_NAMES` names is a map: its names are
data, and are not kept. Of a shape with more than `MOST_PLACES` places only the outer levels are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Meta, Struct, field

from toolplan.plan.path import Json
from toolplan.schema import Schema

MOST_NAMES: Final = 100
MOST_PLACES: Final = 12_000
MOST_DEPTH: Final = 12
MOST_VALUES: Final = 300_000
"""A result with more values than this, all places counted, is not learned from."""

Kind: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]
Count: TypeAlias = Annotated[int, Meta(ge=0)]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FORMATS: Final = ("date", "date-time", "uuid", "email")

_NESTED: Final = frozenset[Kind]({"array", "object"})
_KIND: Final[dict[type, Kind]] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string",
    list: "array", dict: "object",
}  # fmt: skip
_FITS: Final = {name: Schema.load({"type": "string", "format": name}).is_valid for name in FORMATS}
_LENGTHS: Final = {"date": (10, 10), "date-time": (20, 40), "uuid": (36, 36), "email": (3, 254)}


class TooLarge(ValueError):
    """A value has too many places to learn from it."""


class Shape(Struct):
    """What was seen at one place.

    Attributes:
        kinds: the JSON types; `integer` and `number` are distinct.
        formats: those of `FORMATS` that every string had.
        items: the elements of all lists.
        fields: by name.
        always: the fields that every object had.
        rest: all fields of a map; None where objects have fields of their own.
        hidden: whether something was too deep to look into.
    """

    kinds: set[Kind] = field(default_factory=set[Kind])
    formats: set[str] = field(default_factory=lambda: {*FORMATS})
    items: Shape | None = None
    fields: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    always: set[str] = field(default_factory=set[str])
    rest: Shape | None = None
    hidden: bool = False

    def take(self, other: Shape) -> None:
        """Fold `other` into this; `other` stays as it is."""
        if "object" in other.kinds:
            known = "object" in self.kinds
            self.always = self.always & other.always if known else {*other.always}
        self.kinds |= other.kinds
        self.hidden |= other.hidden
        self.formats &= other.formats
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.take(other.items)
        for name, inner in other.fields.items():
            self._part(name).take(inner)
        if other.rest is not None:
            self._as_map().take(other.rest)

    def see(self, value: Json, depth: int, places: Iterator[int]) -> None:
        """Fold a value into this, with `depth` more levels; each value takes one of `places`."""
        if next(places, None) is None:
            raise TooLarge(f"It has more than {MOST_VALUES} values.")
        kind = _KIND[type(value)]
        if depth == 0 and kind in _NESTED:
            self.hidden = True
            return
        if isinstance(value, str):
            self.formats = {each for each in self.formats if _has(value, each)}
        elif isinstance(value, list):
            for item in value:
                self.items = self.items or Shape()
                self.items.see(item, depth - 1, places)
        elif isinstance(value, dict):
            known = "object" in self.kinds
            self.always = self.always & value.keys() if known else {*value}
            for name, part in value.items():
                self._part(name).see(part, depth - 1, places)
            if self.rest is not None:
                self.always.clear()
        self.kinds.add(kind)

    def cut(self, depth: int) -> None:
        """Forget the shape of levels deeper than `depth`."""
        if depth == 0:
            self.hidden |= bool(self.kinds & _NESTED)
            self.kinds -= _NESTED
            self.items, self.fields, self.always, self.rest = None, {}, set(), None
        for inner in self._inner():
            inner.cut(depth - 1)

    def places(self) -> int:
        """Return how many places a value may have here; those of maps are many."""
        of_map = 0 if self.rest is None else MOST_NAMES * self.rest.places()
        return 1 + of_map + sum(inner.places() for inner in self._inner())

    def schema(self) -> dict[str, Json]:
        """Return a JSON Schema that accepts every value that was folded into this.

        Texts never become an enumeration: that few values were seen does not mean that there are
        no others. A field is required where every object had it.
        """
        if self.hidden or not self.kinds:
            return {}
        types = [each for each in KINDS if each in self.kinds]
        if "number" in types and "integer" in types:
            types.remove("integer")
        schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else [*types]}
        if "string" in types and self.formats:
            # of two formats that all texts have, the first is the narrower
            schema["format"] = next(name for name in FORMATS if name in self.formats)
        if self.items is not None:
            schema["items"] = self.items.schema()
        if self.rest is not None:
            schema["additionalProperties"] = self.rest.schema()
        elif "object" in types:
            schema["properties"] = {n: each.schema() for n, each in sorted(self.fields.items())}
            if self.always:
                schema["required"] = [*sorted(self.always)]
        return schema

    def _inner(self) -> list[Shape]:
        return [*self.fields.values(), *(each for each in (self.items, self.rest) if each)]

    def _part(self, name: str) -> Shape:
        """Return the shape of a field, where the names of more than `MOST_NAMES` are data."""
        if self.rest is None and (name in self.fields or len(self.fields) < MOST_NAMES):
            return self.fields.setdefault(name, Shape())
        return self._as_map()

    def _as_map(self) -> Shape:
        rest = self.rest = self.rest or Shape()
        for inner in self.fields.values():
            rest.take(inner)
        self.fields, self.always = {}, set()
        return rest


class Learned(Struct):
    """A shape, how many levels of it are kept, and how many results were folded into it."""

    shape: Shape = field(default_factory=Shape)
    depth: Count = MOST_DEPTH
    samples: Count = 0

    def take(self, other: Learned) -> None:
        """Fold `other` into this; `other` stays as it is."""
        self.shape.take(other.shape)
        self.depth = min(self.depth, other.depth)
        self.samples += other.samples
        self.bound()

    def bound(self) -> None:
        """Cut the shape to the limits."""
        self.shape.cut(self.depth)
        while self.shape.places() > MOST_PLACES:
            self.depth -= 1
            self.shape.cut(self.depth)


def learned_from(value: Json) -> Learned:
    """Return what one result shows."""
    seen = Learned(depth=MOST_DEPTH, samples=1)
    seen.shape.see(value, MOST_DEPTH, iter(range(MOST_VALUES)))
    seen.bound()
    return seen


def _has(text: str, name: str) -> bool:
    least, most = _LENGTHS[name]
    return least <= len(text) <= most and _FITS[name](text)
