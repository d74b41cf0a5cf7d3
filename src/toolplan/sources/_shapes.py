"""Shapes: which types, formats and fields results have had, and how a result differs from them.

A shape holds no value.

Shapes are folded from values and with each other; the outcome does not depend on order or grouping.

A shape is bounded. `Widths` counts, for each depth of objects, the names that occur there anywhere,
and how deep lists are nested there: numbers that only grow, whatever the order. Objects of a
depth with more than `MOST_NAMES` names are maps: their names are data, and are not kept. Depths
that could have more than `MOST_PLACES` places are not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, TypeAlias, get_args, overload

from pydantic import NonNegativeInt

from toolplan.path import EVERY, Json, Path, print_path
from toolplan.schema import Schema

MOST_NAMES: Final = 100
MOST_PLACES: Final = 100_000
MOST_DEPTH: Final = 8
MOST_NESTED: Final = 4
MOST_VALUES: Final = 300_000
"""A result with more values than this, all places counted, is not learned from."""

Kind: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FORMATS: Final = ("date", "date-time", "uuid", "email")

_FITS: Final = {name: Schema.load({"type": "string", "format": name}).is_valid for name in FORMATS}
_LENGTHS: Final = {"date": (10, 10), "date-time": (20, 40), "uuid": (36, 36), "email": (3, 254)}

MOST_SENTENCES: Final = 8

_WORDS: Final = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "a number",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object",
}


class TooLarge(ValueError):
    """A value has too many places to learn from it."""


@dataclass
class Shape:
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
    formats: set[str] = field(default_factory=lambda: set(FORMATS))
    items: Shape | None = None
    fields: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    always: set[str] = field(default_factory=set[str])
    rest: Shape | None = None
    hidden: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen here."""
        return not self.kinds and not self.hidden

    def copy(self) -> Shape:
        """Return a shape that shares nothing with this."""
        fresh = Shape()
        fresh.take(self)
        return fresh

    def take(self, other: Shape) -> None:
        """Fold `other` into this; `other` stays as it is."""
        if "object" in other.kinds:
            known = "object" in self.kinds
            self.always = self.always & other.always if known else set(other.always)
        self.kinds |= other.kinds
        self.hidden |= other.hidden
        self.formats &= other.formats
        self.items = _folded(self.items, other.items)
        self.rest = _folded(self.rest, other.rest)
        for name, shape in other.fields.items():
            self.fields[name] = _folded(self.fields.get(name), shape)


@dataclass
class Widths:
    """For each depth of objects: the names seen there, and how deep lists are nested there.

    `names` None means that there were more than `MOST_NAMES`.
    """

    names: list[set[str] | None] = field(default_factory=list[set[str] | None])
    nested: list[NonNegativeInt] = field(default_factory=list[int])

    def take(self, other: Widths) -> None:
        """Fold `other` into this."""
        for depth, nested in enumerate(other.nested):
            self.note_list(depth, nested)
        for depth, names in enumerate(other.names):
            self._reach(depth)
            mine = self.names[depth]
            joined = None if names is None or mine is None else mine | names
            self.names[depth] = None if joined is None or len(joined) > MOST_NAMES else joined

    def note_names(self, depth: int, names: Iterable[str]) -> None:
        """Note the fields of an object."""
        self._reach(depth)
        mine = self.names[depth]
        if mine is not None:
            mine.update(names)
            if len(mine) > MOST_NAMES:
                self.names[depth] = None

    def note_list(self, depth: int, nested: int) -> None:
        """Record the nesting of lists at a depth of objects."""
        self._reach(depth)
        self.nested[depth] = max(self.nested[depth], nested)

    def is_map(self, depth: int) -> bool:
        """Return whether the names of objects at this depth are data."""
        return depth < len(self.names) and self.names[depth] is None

    def deepest(self) -> int:
        """Return how many depths of objects are looked into."""
        places = 1
        for depth, names in enumerate(self.names[:MOST_DEPTH]):
            width = MOST_NAMES + 1 if names is None else max(len(names), 1)
            places *= width * (1 + self.nested[depth])
            if places > MOST_PLACES:
                return depth
        return MOST_DEPTH

    def _reach(self, depth: int) -> None:
        while len(self.names) <= depth:
            self.names.append(set())
            self.nested.append(0)


@dataclass
class Learned:
    """A shape with its widths, and how many results were folded into it."""

    shape: Shape = field(default_factory=Shape)
    widths: Widths = field(default_factory=Widths)
    samples: NonNegativeInt = 0

    def take(self, other: Learned) -> None:
        """Fold `other` into this; `other` stays as it is."""
        self.shape.take(other.shape)
        self.widths.take(other.widths)
        self.samples += other.samples
        self.bound()

    def bound(self) -> None:
        """Cut the shape to the limits."""
        self.shape = _bounded(self.shape, self.widths, self.widths.deepest(), 0)


def learned_from(value: Json) -> Learned:
    """Return what one result shows.

    Raises:
        TooLarge: it has too many places.
    """
    seen = Learned(samples=1)
    _Look(seen).at(value, seen.shape, 0, 0)
    seen.bound()
    return seen


class _Look:
    """One look at one value."""

    def __init__(self, seen: Learned) -> None:
        self._widths = seen.widths
        self._left = MOST_VALUES

    def at(self, value: Json, shape: Shape, depth: int, nested: int) -> None:
        """Add `value` to `shape`; it stands inside `depth` objects and `nested` lists."""
        self._left -= 1
        if self._left < 0:
            raise TooLarge(f"It has more than {MOST_VALUES} values.")
        match value:
            case str():
                shape.kinds.add("string")
                shape.formats = {each for each in shape.formats if _has(value, each)}
            case None:
                shape.kinds.add("null")
            case bool():
                shape.kinds.add("boolean")
            case int():
                shape.kinds.add("integer")
            case float():
                shape.kinds.add("number")
            case list():
                self._list(value, shape, depth, nested)
            case dict():
                self._object(value, shape, depth)

    def _list(self, value: list[Json], shape: Shape, depth: int, nested: int) -> None:
        if nested >= MOST_NESTED:
            shape.hidden = True
            return
        shape.kinds.add("array")
        self._widths.note_list(depth, nested + 1)
        for item in value:
            shape.items = shape.items or Shape()
            self.at(item, shape.items, depth, nested + 1)

    def _object(self, value: dict[str, Json], shape: Shape, depth: int) -> None:
        if depth >= MOST_DEPTH:
            shape.hidden = True
            return
        known = "object" in shape.kinds
        shape.always = shape.always & value.keys() if known else set(value)
        shape.kinds.add("object")
        self._widths.note_names(depth, value)
        is_map = self._widths.is_map(depth)
        for name, part in value.items():
            if is_map:
                inner = shape.rest = shape.rest or Shape()
            else:
                inner = shape.fields.setdefault(name, Shape())
            self.at(part, inner, depth + 1, 0)


@overload
def _folded(mine: Shape | None, other: Shape) -> Shape: ...
@overload
def _folded(mine: Shape | None, other: Shape | None) -> Shape | None: ...
def _folded(mine: Shape | None, other: Shape | None) -> Shape | None:
    if mine is None or other is None:
        return mine if other is None else other.copy()
    mine.take(other)
    return mine


def _bounded(shape: Shape, widths: Widths, deepest: int, depth: int) -> Shape:
    """Return `shape` with maps where objects are maps, and nothing below `deepest`."""
    if shape.items is not None:
        shape.items = _bounded(shape.items, widths, deepest, depth)
    if depth >= deepest:
        shape.hidden |= "object" in shape.kinds
        shape.kinds.discard("object")
        shape.fields, shape.always, shape.rest = {}, set(), None
        return shape
    if widths.is_map(depth):
        shape.always = set()
        for inner in shape.fields.values():
            shape.rest = _folded(shape.rest, inner)
        shape.fields = {}
    for name, inner in shape.fields.items():
        shape.fields[name] = _bounded(inner, widths, deepest, depth + 1)
    if shape.rest is not None:
        shape.rest = _bounded(shape.rest, widths, deepest, depth + 1)
    return shape


def _has(text: str, name: str) -> bool:
    least, most = _LENGTHS[name]
    return least <= len(text) <= most and _FITS[name](text)


def schema_of(shape: Shape) -> dict[str, Json]:
    """Return a JSON Schema that accepts every value that was folded into `shape`.

    Texts never become an enumeration: that few values were seen does not mean that there are no
    others. A field is required where every object had it.
    """
    if shape.hidden or not shape.kinds:
        return {}
    types = [each for each in KINDS if each in shape.kinds]
    if "number" in types and "integer" in types:
        types.remove("integer")
    schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else [*types]}
    if "string" in types and shape.formats:
        # of two formats that all texts have, the first is the narrower
        schema["format"] = next(name for name in FORMATS if name in shape.formats)
    if shape.items is not None:
        schema["items"] = schema_of(shape.items)
    if shape.rest is not None:
        schema["additionalProperties"] = schema_of(shape.rest)
    elif "object" in types:
        schema["properties"] = {
            name: schema_of(shape.fields[name]) for name in sorted(shape.fields)
        }
        if shape.always:
            schema["required"] = [*sorted(shape.always)]
    return schema


def places_of(shape: Shape) -> int:
    """Return how many schemas `schema_of` gives, one inside of the other counted."""
    inner = [*shape.fields.values(), *(s for s in (shape.items, shape.rest) if s is not None)]
    return 1 + sum(map(places_of, inner))


def cut_at(shape: Shape, depth: int) -> Shape:
    """Return a copy of `shape` that does not look into objects deeper than `depth`."""
    return _bounded(shape.copy(), Widths(), depth, 0)


def drift(known: Shape, seen: Shape) -> tuple[str, ...]:
    """Describe the drift from `known` to `seen`, in at most `MOST_SENTENCES` sentences."""
    return tuple(islice(dict.fromkeys(_differences(known, seen, ())), MOST_SENTENCES))


def _differences(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    if known.hidden or known.is_empty:
        return  # nothing is known of this place
    before, now = _words(known), _words(seen)
    if new := [each for each in now if each not in before]:
        yield f"{_place(path)} is {' or '.join(new)}; it was {' or '.join(before)} before."
    both = known.kinds & seen.kinds
    if "string" in both and known.formats and not known.formats & seen.formats:
        wanted = next(name for name in FORMATS if name in known.formats)
        yield f"{_place(path)} is not always a {wanted}, as it was before."
    if known.items is not None and seen.items is not None:
        yield from _differences(known.items, seen.items, (*path, EVERY))
    if known.rest is not None:
        for inner in (*seen.fields.values(), *(() if seen.rest is None else (seen.rest,))):
            yield from _differences(known.rest, inner, (*path, EVERY))
    elif "object" in both:
        yield from _field_differences(known, seen, path)


def _field_differences(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    for name, inner in known.fields.items():
        if name in seen.fields:
            yield from _differences(inner, seen.fields[name], (*path, name))
        if seen.rest is None and name in known.always - seen.always:
            yield f"{_place((*path, name))} is missing; it was always there before."
    for name in seen.fields:
        if name not in known.fields:
            yield f"{_place((*path, name))} is new."
    if seen.rest is not None:
        yield f"{_place(path)} has very many other fields."


def _place(path: Path) -> str:
    return print_path(path).removeprefix(".") or "the result"


def _words(shape: Shape) -> list[str]:
    return list(dict.fromkeys(_WORDS[kind] for kind in KINDS if kind in shape.kinds))
