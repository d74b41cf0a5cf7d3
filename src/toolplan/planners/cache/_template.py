"""A plan made for one question, fitted to another one that has the same form.

Every part in which the questions differ must have been put into the plan at places that are sure:
arguments that take such a value, and nowhere else. Where anything is in doubt there is no plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from toolplan.path import Json
from toolplan.planners.cache._doubts import (
    InDoubt,
    refuse_elsewhere,
    refuse_reordered,
    refuse_shared,
    refuse_unknown_dates,
    refuse_unknown_identities,
)
from toolplan.planners.cache._leaves import Document, Leaf, Scalar, leaves, others, put
from toolplan.planners.cache._slots import Amount, Days, Identity, Slot, Value
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language.words import UNITS, keys
from toolplan.planners.grounded.parse.linker import Linker

_FROM: Final = frozenset(["from", "since", "after", "start", "begin", "min", "lower"])
_TO: Final = frozenset(["to", "until", "till", "before", "end", "max", "upper"])
_COUNTS: Final = frozenset(["limit", "top", "n", "count", "k", "size"])


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in the plan at a leaf instead, and the part of the new question that says so."""

    leaf: Leaf
    value: Scalar
    slot: Slot


def fitted(
    document: Document,
    old: Sequence[Slot],
    new: Sequence[Slot],
    *,
    days: tuple[str, str],
    catalogue: Catalogue,
) -> list[Edit]:
    """Return the edits by which a plan for `old` becomes the plan for `new`, and make them.

    `days` are the day on which the old question was asked, and that of the new one.

    Raises:
        InDoubt: it is not sure that the edited plan says what the new question says.
    """
    pairs = list(zip(old, new, strict=True))
    changed = [(a, b) for a, b in pairs if a.content != b.content]
    all_leaves = list(leaves(document))
    reasons = _provenance(document)
    fitting = _Fitting(all_leaves, reasons, catalogue)
    edits = [edit for a, b in changed for edit in fitting.edits(a, b)]
    places = [edit.leaf.way for edit in edits]
    if len(set(places)) < len(places):
        raise InDoubt("Two parts of the question stand at one place.")
    refuse_shared(changed, pairs)
    refuse_reordered(pairs)
    rest = [leaf.value for leaf in all_leaves if leaf.way not in set(places)]
    rest.extend(others(document))
    for one, _ in changed:
        refuse_elsewhere(one, rest)
    known = [one for one, other in pairs if one.content == other.content]
    if days[0] != days[1] or any(isinstance(one, Days) for one, _ in changed):
        refuse_unknown_dates(rest, known)
    if changed:
        refuse_unknown_identities(rest, known, Linker(catalogue))
    for edit in edits:
        put(document, edit.leaf.way, edit.value)
    return edits


class _Fitting:
    """Finds the places of slots among the leaves of one plan."""

    def __init__(
        self, all_leaves: Sequence[Leaf], reasons: Mapping[str, Json], catalogue: Catalogue
    ) -> None:
        self._leaves = all_leaves
        self._reasons = reasons
        self._catalogue = catalogue

    def edits(self, old: Slot, new: Slot) -> list[Edit]:
        """Return the edits for one slot; at least one, or it is in doubt."""
        match old, new:
            case Days(), Days():
                found = list(self._days(old, new))
            case Value(), Value():
                found = list(self._values(old, new))
            case Identity(), Identity():
                found = list(self._identities(old, new))
            case Amount(), Amount():
                found = list(self._amounts(old, new))
            case _:
                raise InDoubt("The parts are of different kinds.")
        if not found:
            raise InDoubt(f"{old.place.text!r} does not stand in the plan.")
        for edit in found:
            self._check_reason(edit.leaf, old)
        return found

    def _check_reason(self, leaf: Leaf, slot: Slot) -> None:
        """Refuse a place that, as the plan itself says, other words than the slot's account for."""
        match self._reasons.get(leaf.pointer):
            case None:
                return
            case {"words": [int(first), int(last)]}:
                if first <= slot.place.words[1] and slot.place.words[0] <= last:
                    return
            case _:
                pass
        raise InDoubt(f"{leaf.pointer} comes from something else than {slot.place.text!r}.")

    def _shape(self, leaf: Leaf) -> Shape | None:
        card = self._catalogue.cards.get(leaf.tool)
        return None if card is None else card.arguments.get(leaf.argument)

    def _equal_to(self, fits: Callable[[Scalar], bool]) -> Iterator[Leaf]:
        yield from (leaf for leaf in self._leaves if fits(leaf.value))

    def _days(self, old: Days, new: Days) -> Iterator[Edit]:
        if old.ambiguous or new.ambiguous:
            raise InDoubt(f"{new.place.text!r} may be meant otherwise.")
        moved = [at for at in (0, 1) if old.range[at] != new.range[at]]
        found: set[int] = set()
        for leaf in self._leaves:
            sides = [
                at for at, day in enumerate(old.range) if day and leaf.value == day.isoformat()
            ]
            if not sides:
                continue
            side = self._side(leaf, sides, new)
            day = new.range[side]
            if day is None:
                raise InDoubt(f"{new.place.text!r} is open where {old.place.text!r} is not.")
            found.add(side)
            yield Edit(leaf, day.isoformat(), new)
        if any(at not in found and old.range[at] is not None for at in moved):
            raise InDoubt(f"{old.place.text!r} stands in the plan in part only.")

    def _side(self, leaf: Leaf, sides: list[int], new: Days) -> int:
        """Say whether the day at `leaf` is the first (0) or the last (1) of its range."""
        shape = self._shape(leaf)
        role = shape.role if shape is not None else None
        words = set(keys(leaf.argument))
        told = [0] * (role == "range.start" or bool(words & _FROM))
        told += [1] * (role == "range.end" or bool(words & _TO))
        if len(told) == 1 and told[0] in sides:
            return told[0]
        if not told and (len(sides) == 1 or new.range.start == new.range.end):
            return sides[0]
        raise InDoubt(f"{leaf.pointer} may be the first day or the last.")

    def _values(self, old: Value, new: Value) -> Iterator[Edit]:
        for leaf in self._equal_to(lambda value: value == old.value):
            shape, card = self._shape(leaf), self._catalogue.cards.get(leaf.tool)
            if shape is None or card is None:
                raise InDoubt(f"Nothing is known of {leaf.pointer}.")
            known = {*shape.enum, *shape.gazetteer, *shape.values}
            if old.value not in known or new.value not in known:
                raise InDoubt(f"{new.value!r} is not known at {leaf.pointer}.")
            attributes = self._catalogue.kinds[card.entity].attributes
            meant = {
                (card.entity, name) for name, each in attributes.items()
                if each.equal == leaf.argument
            }  # fmt: skip
            if not _both_mean(old, new, meant):
                raise InDoubt(f"{new.place.text!r} may be said of something else.")
            yield Edit(leaf, new.value, new)

    def _identities(self, old: Identity, new: Identity) -> Iterator[Edit]:
        owner = Linker(self._catalogue).owner(new.code)
        if owner != old.entity:
            raise InDoubt(f"{new.code!r} is the identity of something else.")
        for leaf in self._equal_to(lambda value: value == old.code):
            yield Edit(leaf, new.code, new)

    def _amounts(self, old: Amount, new: Amount) -> Iterator[Edit]:
        if min(old.base, new.base) <= 1 and old.dimension is None:
            raise InDoubt("One thing is asked for otherwise than several.")
        for leaf in self._leaves:
            shape = self._shape(leaf)
            if isinstance(leaf.value, str) or shape is None:
                continue
            factor = _factor(shape, old.dimension)
            if factor is None or abs(leaf.value * factor - old.base) > 1e-9 * abs(old.base):
                continue
            yield Edit(leaf, _number(new.base / factor, shape), new)


def _both_mean(old: Value, new: Value, meant: set[tuple[str, str]]) -> bool:
    if meant & old.attributes:
        return old.attributes == new.attributes
    return bool(meant & old.everywhere) and old.everywhere == new.everywhere


def _factor(shape: Shape, dimension: str | None) -> float | None:
    """Return the base units in one of the argument's; None where it takes no such amount."""
    if not shape.is_number:
        return None
    if dimension is None:
        counts = shape.role == "limit" or shape.name.casefold() in _COUNTS
        return 1.0 if counts else None
    unit, factor = UNITS.get(shape.unit or "", ("", 0.0))
    return factor if unit == dimension else None


def _number(amount: float, shape: Shape) -> int | float:
    """Return `amount` as JSON has it: a whole number where it is one."""
    near = round(amount, 9)
    if near == int(near):
        return int(near)
    if "number" not in shape.types:
        raise InDoubt(f"{near} is no whole number, as {shape.name!r} wants it.")
    return near


def _provenance(document: Document) -> Mapping[str, Json]:
    metadata = document.get("metadata")
    found = metadata.get("provenance") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def lies_ahead(slots: Sequence[Slot], today: str) -> bool:
    """Whether a time begins only after `today`; planners may say that nothing is known of it."""
    now = date.fromisoformat(today)
    return any(
        isinstance(slot, Days) and slot.range.start is not None and slot.range.start > now
        for slot in slots
    )
