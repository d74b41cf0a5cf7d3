"""The version of toolplan that is installed."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def own_version() -> str:
    """Return the version of toolplan.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    return metadata.version("toolplan")
