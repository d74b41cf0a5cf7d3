"""What is made when it is first asked for: modules, names of packages (PEP 562) and patterns."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final, cast

_OF_A_PATTERN: Final = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "pattern",
    "search",
    "split",
    "sub",
    "subn",
)

LIBRARIES: Final = (
    "difflib",
    "fractions",
    "hashlib",
    "html",
    "platformdirs",
    "rfc8785",
    "shlex",
    "statistics",
    "sysconfig",
    "tempfile",
    "tomllib",
)
"""The libraries for which `lazy_module` is called anywhere, also in modules not loaded yet."""


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


def lazy_module(name: str) -> ModuleType:
    """Return the module `name`, loaded when something in it is first asked for (as by PEP 810).

    It is for what a command may not need. For type checkers, and for the contracts of the layers,
    the same module is imported under `TYPE_CHECKING`. A library must be one of `LIBRARIES`.
    """
    return _LazyModule(name)


def load_libraries() -> None:
    """Load all of `LIBRARIES`: the path for imports will change."""
    for name in LIBRARIES:
        import_module(name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used.

    Patterns of modules are made so: compiling one takes a tenth of a millisecond or more, and a
    command uses few of those that its modules have.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyModule(ModuleType):
    """Has what the module of its name has."""

    def __getattr__(self, name: str) -> object:
        """Return what the module has: Python calls this for what this object does not have."""
        module = self.__dict__.get("<module>")
        if module is None:
            module = self.__dict__["<module>"] = import_module(self.__name__)
        return cast("object", getattr(module, name))


class _LazyPattern:
    """Has the attributes of `re.Pattern` from the first use on: they are then its own."""

    __slots__ = ("__weakref__", "_made_of", *_OF_A_PATTERN)

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._made_of = pattern, (pattern, flags)

    def __getattr__(self, name: str) -> object:
        """Compile the pattern: Python calls this for an attribute without a value."""
        if name not in _OF_A_PATTERN:
            raise AttributeError(f"a pattern has no attribute {name!r}")
        compiled = re.compile(*self._made_of)
        for each in _OF_A_PATTERN:
            setattr(self, each, getattr(compiled, each))
        return cast("object", getattr(compiled, name))

    def __repr__(self) -> str:
        return f"lazy_pattern({self._made_of[0]!r})"
