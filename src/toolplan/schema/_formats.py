"""The formats `date-time` and `time`, as in ISO 8601.

RFC 3339 requires seconds and an offset from UTC. ISO 8601 makes both optional, and most tools that
declare these formats accept local times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, time
from types import MappingProxyType
from typing import Final

_TIME = re.compile(
    r"([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.][0-9]+)?)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)
_DATE_AND_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](.+)")


def is_time(text: str) -> bool:
    """Return whether `text` is a time of day: `18:00`, `18:00:00.5Z`, `18:00:00+02:00`.

    >>> is_time("22:00"), is_time("25:00"), is_time("noon")
    (True, False, False)
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    try:
        # `datetime` has no leap seconds
        time.fromisoformat(f"{found[1]}:{'59' if found[2] == '60' else found[2] or '00'}")
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Return whether `text` is a date with a time of day.

    >>> is_date_time("2025-10-06T12:00:00"), is_date_time("2025-02-30T12:00:00Z")
    (True, False)
    """
    found = _DATE_AND_TIME.fullmatch(text)
    if found is None or not is_time(found[2]):
        return False
    try:
        datetime.fromisoformat(found[1])
    except ValueError:
        return False
    return True


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = MappingProxyType(
    {"date-time": is_date_time, "time": is_time}
)
"""The formats that replace those of the validator."""
