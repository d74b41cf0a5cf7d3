"""All modules of the package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import toolplan


def every_module() -> Iterator[ModuleType]:
    """Yield every module of toolplan but those that run when they are loaded."""
    for found in pkgutil.walk_packages(toolplan.__path__, "toolplan."):
        if found.name.rpartition(".")[2] != "__main__":
            yield importlib.import_module(found.name)
