"""The size of values: bounds that hold before anything is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolplan.events import Failure
from toolplan.plan.path import Json

CONTAINER: Final = 64
_ELEMENT: Final = 8
FIELD: Final = 32
PLAIN: Final = frozenset((int, float, bool, type(None)))
"""Types of values that take no more than their place in a container."""


class TooLarge(ValueError):
    """A value would be larger than the rest of its budget."""


class Budget:
    """The bytes that a value may still take; `used` says how many were taken."""

    __slots__ = ("most", "used")

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def take(self, value: Json) -> None:
        """Count a copy of `value`.

        Raises:
            TooLarge: it is more than the rest.
        """
        if type(value) in PLAIN:
            return
        if isinstance(value, str):
            self.used += len(value)
        else:
            self.used += size_of(value, self.most - self.used)
        if self.used > self.most:
            raise TooLarge


def size_of(value: Json, most: int) -> int:
    """Return about the bytes that `value` takes; where they are more than `most`, any such number.

    Text counts one byte a character, because it is also written out.
    """
    if isinstance(value, str):
        return len(value)
    size = 0
    pending: list[Json] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            size += CONTAINER + FIELD * len(each) + sum(map(len, each))
            parts: Iterable[Json] = each.values()
        elif isinstance(each, list):
            size += CONTAINER + _ELEMENT * len(each)
            parts = each
        else:
            size += len(each) if isinstance(each, str) else 0
            continue
        if size > most:
            return size
        # exact types first: nearly every value has one, and takes no turn of its own
        for part in parts:
            if isinstance(part, str):
                size += len(part)
            elif type(part) not in PLAIN:
                pending.append(part)
        if size > most:
            return size
    return size


def too_large(what: str, most: int, pointer: str) -> Failure:
    """Return the failure of a step whose `what` would take more than `most` bytes."""
    message = (
        f"{what} would be larger than {most / 1_000_000:g} MB. Refer to a part of the result, or"
        " refer to it fewer times."
    )
    return Failure("value-too-large", message, pointer)
