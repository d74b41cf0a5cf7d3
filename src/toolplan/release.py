"""The version of toolplan that is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def own_version() -> str:
    """Return the version of toolplan.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    metadata: Any = import_module("importlib.metadata")  # slow: it reads headers as of mail
    return metadata.version("toolplan")
