"""The size of values: bounds that hold before anything is built."""

from __future__ import annotations

from typing import Final

from toolplan.events import Failure
from toolplan.path import Json

_CONTAINER: Final = 64
_ELEMENT: Final = 8
_FIELD: Final = 32


class TooLarge(ValueError):
    """A value would be larger than what is left of its budget."""


class Budget:
    """The bytes that a value may still take; `used` says how many were taken."""

    __slots__ = ("most", "used")

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def take(self, value: Json) -> None:
        """Count a copy of `value`.

        Raises:
            TooLarge: it is more than what is left.
        """
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
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, list):
            size += _CONTAINER + _ELEMENT * len(each)
            if size > most:
                return size
            pending.extend(each)
        elif isinstance(each, dict):
            size += _CONTAINER + _FIELD * len(each)
            if size > most:
                return size
            size += sum(map(len, each))
            pending.extend(each.values())
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
