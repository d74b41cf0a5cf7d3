"""Descriptions of tasks: the text of a contract with the scope of an intent."""

from __future__ import annotations

import re
from typing import Final

SCOPE: Final = "scope"
PLACE: Final = "place"
TARGET_SCOPE: Final = "target scope"
"""The scope where the intent names none (F001-14)."""

_PLACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_CHARACTERS: Final = 80


def unknown_places(text: str) -> list[str]:
    """Return the unknown placeholders in `text`."""
    return [name for name in _PLACES.findall(text) if name not in (SCOPE, PLACE)]


def described(text: str, scope: str, place: str) -> str:
    """Return `text` with `scope` for `{scope}` and `place` for `{place}`.

    Placeholders in the inserted names are not replaced.

    >>> described("Fetch configurations for {place}", "HQ", "HQ site")
    'Fetch configurations for HQ site'
    """
    named = {SCOPE: scope, PLACE: place}
    return _PLACES.sub(lambda found: named.get(found[1], found[0]), text)


def listed(names: list[str]) -> str:
    """Return names as one phrase, each of them cut.

    >>> listed(["HQ", "DataCenter-1", "Lab"])
    'HQ, DataCenter-1 and Lab'
    """
    short = [" ".join(name.split())[:_MOST_CHARACTERS] for name in names]
    return " and ".join(part for part in (", ".join(short[:-1]), short[-1]) if part)
