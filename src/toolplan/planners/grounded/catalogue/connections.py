"""How one kind of thing leads to another: over arguments and columns that carry identities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, ColumnOf, Kind
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language.words import key, keys

_CAPACITY: Final = "capacity"


class Connection(Struct, frozen=True):
    """`attribute` of the one takes the values of `column` of the other.

    `direct`: the identity is that of one of the two; otherwise both only belong to one third thing.
    """

    attribute: Attribute
    column: str
    direct: bool


def connect(
    catalogue: Catalogue, to: Kind, entity: str, columns: Mapping[str, Shape]
) -> Connection | None:
    """Return how things of kind `to` are listed for rows of `entity` that have `columns`."""
    return _direct(to, entity, columns) or _by_third(catalogue, to, entity, columns)


def between(catalogue: Catalogue, to: Kind, entity: str) -> str | None:
    """Return the only kind that leads from `entity` to `to` where nothing does directly."""
    first = shown(catalogue.kinds[entity])
    found = [
        kind.entity
        for kind in catalogue.kinds.values()
        if kind.entity not in (to.entity, entity)
        and kind.listing is not None
        and _direct(kind, entity, first)
        and _direct(to, kind.entity, shown(kind))
    ]
    return found[0] if len(found) == 1 else None


def shown(kind: Kind) -> dict[str, Shape]:
    """Return the columns of the rows of `kind`."""
    return {a.column: a.shape for a in kind.attributes.values() if a.column is not None}


def shows_column(kind: Kind | None, columns: Sequence[ColumnOf], said: str) -> bool:
    """Return whether rows of `kind` have one of `columns`, or one whose name ends as `said`."""
    if kind is None:
        return False
    own = [kind.attributes.get(each.attribute) for each in columns if each.entity == kind.entity]
    names = [keys(name) for name in shown(kind)]
    return any(each is not None and each.column is not None for each in own) or any(
        name[-1:] == keys(said)[-1:] for name in names
    )


def column_of(ref: str, columns: Mapping[str, Shape]) -> str | None:
    """Return the column that carries the identity `ref`."""
    return next((name for name, each in columns.items() if each.ref == ref), None)


def join_columns(one: Kind, other: Kind) -> tuple[str, str] | None:
    """Return the columns by which rows of `one` belong to one row of `other`, or None."""
    mine = column_of(other.identity, shown(one))
    its = column_of(other.identity, shown(other))
    return (mine, its) if mine is not None and its is not None else None


def shared_columns(one: Kind, entity: str, columns: Mapping[str, Shape]) -> tuple[str, str] | None:
    """Return the columns in which rows of `one` and rows of `entity` carry the same identity."""
    mine = shown(one)
    for ref in (one.identity, f"{entity}.id"):
        left, right = column_of(ref, mine), column_of(ref, columns)
        if left is not None and right is not None:
            return left, right
    return None


def _direct(to: Kind, entity: str, columns: Mapping[str, Shape]) -> Connection | None:
    for ref in (f"{entity}.id", to.identity):
        column = column_of(ref, columns)
        attribute = _taking(to, ref)
        if column is not None and attribute is not None:
            return Connection(attribute, column, True)
    return None


def _by_third(
    catalogue: Catalogue, to: Kind, entity: str, columns: Mapping[str, Shape]
) -> Connection | None:
    thirds = [
        kind
        for kind in catalogue.kinds.values()
        if kind.entity not in (to.entity, entity)
        and _taking(to, kind.identity)
        and column_of(kind.identity, columns)
    ]
    # what belongs to one copy is closer to another thing of it than what belongs to its library
    finest = [
        kind
        for kind in thirds
        if not any(join_columns(other, kind) for other in thirds if other is not kind)
    ]
    if len(finest) != 1:
        return None
    attribute = _taking(to, finest[0].identity)
    column = column_of(finest[0].identity, columns)
    if attribute is None or column is None:
        return None
    return Connection(attribute, column, False)


def _taking(kind: Kind, ref: str) -> Attribute | None:
    fitting = (a for a in kind.attributes.values() if a.shape.ref == ref and a.equal is not None)
    return next(fitting, None)


def held_and_capacity(kind: Kind) -> tuple[str, str] | None:
    """Return the columns of what such a thing holds and can hold: the only two of that unit."""
    numbers = [
        (attribute.column, attribute.shape)
        for attribute in kind.attributes.values()
        if attribute.column is not None and attribute.shape.is_number
    ]
    for capacity, shape in numbers:
        if _CAPACITY not in (keys(capacity)[0], *map(key, shape.synonyms)):
            continue
        same = [name for name, its in numbers if name != capacity and its.unit == shape.unit]
        if len(same) == 1 and shape.unit is not None:
            return same[0], capacity
    return None


def is_cued_list(attribute: Attribute) -> bool:
    """Return whether a column holds lists whose values are meant only behind a verb of it."""
    listed = attribute.shape.takes_many and attribute.equal is None
    return listed and bool(attribute.shape.cues)


def list_cues(catalogue: Catalogue) -> frozenset[str]:
    """Return the verbs of columns that hold lists: "takes" of a town that takes oak and ash."""
    return frozenset(
        cue
        for kind in catalogue.kinds.values()
        for attribute in kind.attributes.values()
        if is_cued_list(attribute)
        for cue in attribute.shape.cue_keys
    )
