"""Which runs may be pruned: the age and the number of the settings, or of the command."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.app.settings import Settings, SettingsError
from toolplan.errors import ToolplanError

TABLE: Final = "retention"
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGE: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhdw])")
_MOST_RUNS: Final = 10_000_000
_FORM: Final = "Write a number and s, m, h, d or w, as in 30d."
_EXAMPLE: Final = 'Its table [retention] has the lines `older_than = "30d"` and `keep = 100`.'


class Retention(Struct, frozen=True):
    """Runs that are older than `older_than_s` seconds may be pruned, but not the `keep` latest."""

    older_than_s: float = 30 * 86_400
    keep: int = 100


def retention(
    settings: Settings, older_than: str | None = None, keep: int | None = None
) -> Retention:
    """Return what may be pruned: what is given, else what is set, else 30 days and 100 runs.

    Where only one of the two is given or set, only that one counts.

    Raises:
        ToolplanError: an age or a number is not valid.
    """
    table = settings.table(TABLE)
    for name, value in table.items():
        is_age = name == "older_than" and isinstance(value, str) and _AGE.fullmatch(value)
        if not is_age and not (name == "keep" and _is_number(value)):
            raise SettingsError(
                f"{settings.place}: {name!r} in [{TABLE}] cannot be used.", _EXAMPLE
            )
    if keep is not None and not _is_number(keep):
        raise ToolplanError(
            "usage", f"keep {keep} is not a number of runs.", "Give 0 or a larger whole number."
        )
    if older_than is not None and _AGE.fullmatch(older_than) is None:
        raise ToolplanError("usage", f"older_than {older_than!r} is not an age.", _FORM)
    age, number = older_than or table.get("older_than"), keep
    if number is None:
        number = table.get("keep")
    if age is None and number is None:
        return Retention()
    return Retention(0 if age is None else _seconds(str(age)), int(str(number or 0)))


def _seconds(age: str) -> float:
    return int(age[:-1]) * _SECONDS[age[-1]]


def _is_number(value: object) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and 0 <= int(str(value)) <= _MOST_RUNS
