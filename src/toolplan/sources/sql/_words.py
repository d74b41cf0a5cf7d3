"""The words and the bounds of the arguments of the tool."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

MAX_TEXT: Final = 20_000
"""The longest statement, in characters."""
MAX_TABLES: Final = 32


class Scalar(StrEnum):
    """A type without parts; the values are the words of the `columns` argument."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "date-time"
    JSON = "json"
    UNKNOWN = "unknown"
    HUGE = "huge"
    """An integer beyond 64 bits."""
    INSTANT = "instant"
    """A moment, compared as one; which day it is on is not known."""


WORDS: Final = tuple(
    word.value for word in Scalar if word not in (Scalar.UNKNOWN, Scalar.HUGE, Scalar.INSTANT)
)
"""The names that the `columns` argument of the tool may give to a type."""


class SqlLimits(Struct, frozen=True):
    """Bounds of one call: rows of the result, seconds, megabytes of memory."""

    rows: int = 100_000
    seconds: float = 30.0
    memory_mb: int = 512
