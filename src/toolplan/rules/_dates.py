"""Dates in other spellings than YYYY-MM-DD, where only one day can be meant."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_DIGITS = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_DAY_MONTH = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?[ -]([a-z]{3,9})\.?,?[ -]([0-9]{4})")
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")
_MIDNIGHT = re.compile(r"(.+)[Tt ]00:00(?::00(?:\.0+)?)?[Zz]?")
_LONGEST: Final = 40


def iso_date(text: str) -> str | None:
    """Return the day that `text` names as `YYYY-MM-DD`; None where it is ambiguous or no date.

    >>> iso_date("6 October 2025"), iso_date("2025/10/6"), iso_date("31.12.2025")
    ('2025-10-06', '2025-10-06', '2025-12-31')
    >>> iso_date("10/06/2025") is None  # June or October
    True
    """
    if len(text) > _LONGEST:
        return None
    plain = text.strip().lower()
    if found := _MIDNIGHT.fullmatch(plain):
        plain = found[1]
    if found := _YEAR_FIRST.fullmatch(plain):
        return _day(int(found[1]), int(found[3]), int(found[4]))
    if found := _DIGITS.fullmatch(plain):
        return _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _DAY_MONTH.fullmatch(plain):
        return _day(int(found[3]), _month(found[2]), int(found[1]))
    if found := _MONTH_DAY.fullmatch(plain):
        return _day(int(found[3]), _month(found[1]), int(found[2]))
    if found := _YEAR_LAST.fullmatch(plain):
        return _of_either_order(int(found[4]), int(found[1]), int(found[3]))
    return None


def _of_either_order(year: int, one: int, other: int) -> str | None:
    readings = {_day(year, one, other), _day(year, other, one)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _month(name: str) -> int:
    found = [at for at, month in enumerate(_MONTHS, 1) if name in (month, month[:3], month[:4])]
    return found[0] if found else 0


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
