"""Lazy names of packages (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module


def names_of(package: str, **modules: str) -> Callable[[str], object]:
    """Return the `__getattr__` of `package`: the names that each of its modules provides.

    `from package import name` then loads the module of that name, and no other. The package imports
    the same names under `TYPE_CHECKING`, for type checkers and readers.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
