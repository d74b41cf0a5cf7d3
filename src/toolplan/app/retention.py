"""Which runs may be pruned: the age and the number of the settings, or of the command."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, ValidationError, convert

from toolplan.app import settings as known
from toolplan.errors import ToolplanError

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Retention(Struct, frozen=True):
    """Runs that are older than `older_than_s` seconds may be pruned, but not the `keep` latest."""

    older_than_s: float = 30 * 86_400
    keep: int = 100


def retention(
    settings: known.Settings, older_than: str | None = None, keep: int | None = None
) -> Retention:
    """Return what may be pruned: what is given, else what is set, else 30 days and 100 runs.

    Where only one of the two is given or set, only that one counts.

    Raises:
        ToolplanError: an age or a number is not valid.
    """
    table = settings.retention
    try:
        given = convert({"older_than": older_than, "keep": keep}, known.Retention)
    except ValidationError as error:
        raise ToolplanError(
            "usage",
            f"What is to be kept cannot be read: {error}",
            "Give an age, a number and s, m, h, d or w, as in 30d; and a number of runs from 0.",
        ) from None
    age = given.older_than or table.older_than
    number = table.keep if given.keep is None else given.keep
    if age is None and number is None:
        return Retention()
    return Retention(0 if age is None else int(age[:-1]) * _SECONDS[age[-1]], number or 0)
