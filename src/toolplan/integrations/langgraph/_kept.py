"""What checkpointers cannot keep: msgpack has no integers of more than 64 bits."""

from __future__ import annotations

from typing import Final

from toolplan.path import Json

_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1


def keeps(value: Json) -> bool:
    """Say whether a checkpointer can keep `value`."""
    left = [value]
    while left:
        match left.pop():
            case bool():
                continue
            case int() as number:
                if not _LEAST <= number <= _MOST:
                    return False
            case list() as items:
                left.extend(items)
            case dict() as fields:
                left.extend(fields.values())
            case _:
                continue
    return True


def keepable(value: Json) -> Json:
    """Return `value`, integers that no checkpointer can keep as text.

    >>> keepable({"wei": 2**70, "n": 1})
    {'wei': '1180591620717411303424', 'n': 1}
    """
    match value:
        case bool():
            return value
        case int() if not _LEAST <= value <= _MOST:
            return str(value)
        case list():
            return [keepable(item) for item in value]
        case dict():
            return {name: keepable(item) for name, item in value.items()}
        case _:
            return value
