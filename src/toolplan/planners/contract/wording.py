"""Descriptions of tasks: a contract's words, with the scope of an intent put in."""

from __future__ import annotations

import re
from typing import Final

SCOPE: Final = "scope"
PLACE: Final = "place"
TARGET_SCOPE: Final = "target scope"
"""What stands for a scope that the intent does not name (F001-14)."""

_PLACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_CHARACTERS: Final = 80


def unknown_places(text: str) -> list[str]:
    """Return what stands in braces in `text` and means nothing."""
    return [name for name in _PLACES.findall(text) if name not in (SCOPE, PLACE)]


def described(text: str, scope: str, place: str) -> str:
    """Return `text` with `scope` for `{scope}` and `place` for `{place}`; each is put in once.

    What is put in is not read again, so that a name with braces stays a name.

    >>> described("Fetch configurations for {place}", "HQ", "HQ site")
    'Fetch configurations for HQ site'
    """
    named = {SCOPE: scope, PLACE: place}
    return _PLACES.sub(lambda found: named.get(found[1], found[0]), text)


def listed(names: list[str]) -> str:
    """Return names as one phrase, each cut to a length that can be read.

    >>> listed(["HQ", "DataCenter-1", "Lab"])
    'HQ, DataCenter-1 and Lab'
    """
    short = [" ".join(name.split())[:_MOST_CHARACTERS] for name in names]
    return " and ".join(part for part in (", ".join(short[:-1]), short[-1]) if part)
