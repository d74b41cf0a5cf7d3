"""One reference of a plan, with the schemas at its two ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from toolplan import schema as schemas
from toolplan.path import print_path
from toolplan.plan import Array, Literal, Object, Ref, Step, Template, Value, escape_pointer

Place: TypeAlias = tuple[str | int, ...]
"""The place of a value in a step: `("args", "ids", 0)`."""


class Use(Struct, frozen=True):
    """One reference of a plan.

    `position` is that of its step, `place` that of the value which holds it. `given` is the schema
    of what it selects, `Absent` where that does not exist, None where it is unknown. `taken` is
    the schema of the argument, None outside of arguments of known tools. `whole` is False inside of
    text.
    """

    step: Step
    position: int
    place: Place
    ref: Ref
    whole: bool
    given: schemas.Schema | schemas.Absent | None
    taken: schemas.Schema | schemas.Absent | None

    @property
    def pointer(self) -> str:
        """The JSON pointer, in the plan, of the value that holds the reference."""
        tokens = "/".join(escape_pointer(str(token)) for token in self.place)
        return f"/steps/{self.position}/{tokens}"

    @property
    def text(self) -> str:
        """The reference as it is written."""
        return "${" + self.ref.step + print_path(self.ref.path) + "}"

    @property
    def in_arguments(self) -> bool:
        """Whether the reference is in an argument, not in `for_each` or `when`."""
        return self.place[0] == "args"

    @property
    def verdict(self) -> schemas.Verdict:
        """Whether the selected value fits the argument."""
        given = self.given if isinstance(self.given, schemas.Schema) else None
        taken = self.taken if isinstance(self.taken, schemas.Schema) else None
        return schemas.assignable(given, taken)


def surely_fits(use: Use) -> bool:
    """Return whether `use` certainly passes all rules about types."""
    whole, given, taken = use.whole, use.given, use.taken
    if isinstance(given, schemas.Absent):
        return False
    if not isinstance(taken, schemas.Schema):
        return True
    node = taken.node
    if isinstance(node, dict) and "x-literal" in node:
        return False
    if not whole:
        return "string" in schemas.types_of(taken)
    return given is None or schemas.assignable(given, taken) is schemas.Verdict.YES


def located(value: Value, place: Place) -> Iterator[tuple[Place, Ref, bool]]:
    """Yield the references of `value` with their places, and whether each is the whole value."""
    match value:
        case Ref():
            yield place, value, True
        case Template(parts):
            for part in parts:
                if isinstance(part, Ref):
                    yield place, part, False
        case Array(items):
            for position, item in enumerate(items):
                yield from located(item, (*place, position))
        case Object(fields):
            for key, inner in fields:
                yield from located(inner, (*place, key))
        case Literal():
            return
