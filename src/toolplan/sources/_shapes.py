"""What results have looked like, so far as it can be told from types and names alone.

A shape is folded from values, and shapes are folded with each other, in any order and any grouping:
what comes out is the same. It says of each place which JSON types were seen there, of texts which
formats all of them had, of objects which fields, and how often. It holds no value.

A shape is bounded. `Widths` counts, for each depth of objects, the names that occur there anywhere,
and how deep lists are nested there: numbers that only grow, whatever the order. Where there are
more than `MOST_NAMES`, objects of that depth are maps: their names are data, and are not kept.
Depths whose objects could have more than `MOST_PLACES` places between them are not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolplan.path import Json
from toolplan.schema import Schema

MOST_NAMES: Final = 100
MOST_PLACES: Final = 100_000
MOST_DEPTH: Final = 8
MOST_NESTED: Final = 4
MOST_VALUES: Final = 300_000
"""A result with more values than this, all places counted, is not learned from."""

FORMATS: Final = ("date", "date-time", "uuid", "email")

_FITS: Final = {name: Schema.load({"type": "string", "format": name}).is_valid for name in FORMATS}
_LENGTHS: Final = {"date": (10, 10), "date-time": (20, 40), "uuid": (36, 36), "email": (3, 254)}


class TooLarge(ValueError):
    """A value has too many places to learn from it."""


@dataclass
class Shape:
    """What was seen at one place. It is owned by whoever made it, and changes while it grows.

    Attributes:
        null, true_or_false, whole, fraction, text: how often that was seen; `whole` are integers.
        lists, objects: how often; what is in them stands in `items`, `fields` and `rest`.
        formats: those of `FORMATS` that every text had.
        items: of the elements of all lists.
        fields: by name; how often a field was there is the sum of what was seen in it.
        rest: of all fields of a map; None where objects have fields of their own.
        hidden: how often something was seen that is too deep to look into.
    """

    null: int = 0
    true_or_false: int = 0
    whole: int = 0
    fraction: int = 0
    text: int = 0
    lists: int = 0
    objects: int = 0
    hidden: int = 0
    formats: frozenset[str] = frozenset(FORMATS)
    items: Shape | None = None
    fields: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    rest: Shape | None = None

    @property
    def seen(self) -> int:
        """How often the place was seen at all."""
        scalars = self.null + self.true_or_false + self.whole + self.fraction + self.text
        return scalars + self.lists + self.objects + self.hidden

    def copy(self) -> Shape:
        """Return one that shares nothing with this."""
        fresh = Shape()
        fresh.take(self)
        return fresh

    def take(self, other: Shape) -> None:
        """Fold `other` into this; `other` stays as it is."""
        self.null += other.null
        self.true_or_false += other.true_or_false
        self.whole += other.whole
        self.fraction += other.fraction
        self.text += other.text
        self.lists += other.lists
        self.objects += other.objects
        self.hidden += other.hidden
        self.formats &= other.formats
        if other.items is not None:
            self.items = _folded(self.items, other.items)
        if other.rest is not None:
            self.rest = _folded(self.rest, other.rest)
        for name, shape in other.fields.items():
            self.fields[name] = _folded(self.fields.get(name), shape)


@dataclass
class Widths:
    """For each depth of objects: the names seen there, and how deep lists are nested there.

    `names` None means that there were more than `MOST_NAMES`.
    """

    names: list[set[str] | None] = field(default_factory=list[set[str] | None])
    nested: list[int] = field(default_factory=list[int])

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
        """Note that at this depth lists are nested so deep."""
        self._reach(depth)
        self.nested[depth] = max(self.nested[depth], nested)

    def is_map(self, depth: int) -> bool:
        """Whether the names of objects at this depth are data."""
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
    samples: int = 0

    def take(self, other: Learned) -> None:
        """Fold `other` into this; `other` stays as it is."""
        self.shape.take(other.shape)
        self.widths.take(other.widths)
        self.samples += other.samples
        self.bound()

    def observe(self, value: Json) -> None:
        """Fold a result into this.

        Raises:
            TooLarge: it has too many places; nothing was changed.
        """
        self.take(learned_from(value))

    def bound(self) -> None:
        """Let go of what is beyond the bounds: what `take` does, and one who looks at a value."""
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
        """Add `value`, at so many objects' depth and inside so many lists, to `shape`."""
        self._left -= 1
        if self._left < 0:
            raise TooLarge(f"It has more than {MOST_VALUES} values.")
        match value:
            case str():
                shape.text += 1
                if shape.formats:
                    shape.formats = frozenset(f for f in shape.formats if _has(value, f))
            case None:
                shape.null += 1
            case bool():
                shape.true_or_false += 1
            case int():
                shape.whole += 1
            case float():
                shape.fraction += 1
            case list():
                self._list(value, shape, depth, nested)
            case dict():
                self._object(value, shape, depth)

    def _list(self, value: list[Json], shape: Shape, depth: int, nested: int) -> None:
        if nested >= MOST_NESTED:
            shape.hidden += 1
            return
        shape.lists += 1
        self._widths.note_list(depth, nested + 1)
        if value and shape.items is None:
            shape.items = Shape()
        for item in value:
            if shape.items is not None:
                self.at(item, shape.items, depth, nested + 1)

    def _object(self, value: dict[str, Json], shape: Shape, depth: int) -> None:
        if depth >= MOST_DEPTH:
            shape.hidden += 1
            return
        shape.objects += 1
        self._widths.note_names(depth, value)
        if self._widths.is_map(depth):
            if value and shape.rest is None:
                shape.rest = Shape()
            for part in value.values():
                if shape.rest is not None:
                    self.at(part, shape.rest, depth + 1, 0)
            return
        for name, part in value.items():
            inner = shape.fields.get(name)
            if inner is None:
                inner = shape.fields[name] = Shape()
            self.at(part, inner, depth + 1, 0)


def _folded(mine: Shape | None, other: Shape) -> Shape:
    if mine is None:
        return other.copy()
    mine.take(other)
    return mine


def _bounded(shape: Shape, widths: Widths, deepest: int, depth: int) -> Shape:
    """Return `shape` with maps where objects are maps, and nothing below `deepest`."""
    if shape.items is not None:
        shape.items = _bounded(shape.items, widths, deepest, depth)
    if depth >= deepest:
        shape.hidden += shape.objects
        shape.objects = 0
        shape.fields, shape.rest = {}, None
        return shape
    if widths.is_map(depth):
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
    if shape.hidden or not shape.seen:
        return {}
    types = [name for name, seen in _types(shape).items() if seen]
    schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else [*types]}
    if shape.text and shape.formats:
        # of two formats that all texts have, the first is the narrower
        schema["format"] = next(name for name in FORMATS if name in shape.formats)
    if shape.items is not None:
        schema["items"] = schema_of(shape.items)
    if shape.rest is not None:
        schema["additionalProperties"] = schema_of(shape.rest)
    elif shape.objects:
        names = sorted(shape.fields)
        schema["properties"] = {name: schema_of(shape.fields[name]) for name in names}
        needed = [name for name in names if shape.fields[name].seen == shape.objects]
        if needed:
            schema["required"] = [*needed]
    return schema


def places_of(shape: Shape) -> int:
    """Return how many schemas `schema_of` gives, one inside of the other counted."""
    inner = [*shape.fields.values(), *(s for s in (shape.items, shape.rest) if s is not None)]
    return 1 + sum(map(places_of, inner))


def cut_at(shape: Shape, depth: int) -> Shape:
    """Return a copy of `shape` that does not look into objects deeper than `depth`."""
    return _bounded(shape.copy(), Widths(), depth, 0)


def _types(shape: Shape) -> Mapping[str, int]:
    return {
        "null": shape.null,
        "boolean": shape.true_or_false,
        "integer": 0 if shape.fraction else shape.whole,
        "number": shape.fraction,
        "string": shape.text,
        "array": shape.lists,
        "object": shape.objects,
    }
