"""Values for checkpointers: msgpack has no integers of more than 64 bits."""

from __future__ import annotations

from typing import Final

from toolplan.path import Json

_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1


def is_storable(value: Json) -> bool:
    """Check whether a checkpointer can store `value`."""
    left = [value]
    while left:
        match left.pop():
            case int() as number if not _LEAST <= number <= _MOST:
                return False
            case list() as items:
                left.extend(items)
            case dict() as fields:
                left.extend(fields.values())
            case _:
                continue
    return True


def storable(value: Json) -> Json:
    """Return `value` with the integers that cannot be stored as text.

    >>> storable({"wei": 2**70, "n": 1})
    {'wei': '1180591620717411303424', 'n': 1}
    """
    match value:
        case int() if not _LEAST <= value <= _MOST:
            return str(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return {name: storable(item) for name, item in value.items()}
        case _:
            return value
