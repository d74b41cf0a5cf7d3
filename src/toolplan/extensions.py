"""What installed packages add to toolplan: dialects, rules, sources of tools, planners.

A package offers them as entry points in the groups `toolplan.dialects`, `toolplan.rules`,
`toolplan.sources` and `toolplan.planners`. The built-in ones come in by the same entry points.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, Generic, NamedTuple, TypeVar, cast

from toolplan.errors import ToolplanError

_T = TypeVar("_T")
_OURS: Final = "toolplan"
_PREFIX: Final = f"{_OURS}."
_FILE: Final = "entry_points.txt"


class ExtensionError(ToolplanError):
    """An installed package offers something that cannot be used. The code is `bad-extension`."""


class EntryPoint(NamedTuple):
    """An object that a package offers: `value` is `MODULE:ATTRIBUTE`, as the package wrote it."""

    package: str
    group: str
    name: str
    value: str

    @property
    def is_ours(self) -> bool:
        """Whether it is built in."""
        return self.package == _OURS

    def load(self) -> object:
        """Return the object; importing its module may raise anything."""
        module, _, attributes = self.value.partition("[")[0].strip().partition(":")
        return functools.reduce(
            getattr, filter(None, attributes.split(".")), importlib.import_module(module)
        )


class Extensions(Mapping[str, _T], Generic[_T]):
    """What installed packages offer under one group, by name; each is loaded when first asked for.

    Built-in names come first, in alphabetical order, then those of other packages. A name of ours
    cannot be taken by another package.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._loaded: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        """Return what is offered as `name`.

        Raises:
            KeyError: no package offers it.
            ExtensionError: it cannot be loaded, or two packages offer it.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(self._offers[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._offers)

    def __len__(self) -> int:
        return len(self._offers)

    def __contains__(self, name: object) -> bool:
        return name in self._offers  # without loading it

    @cached_property
    def _offers(self) -> dict[str, tuple[EntryPoint, ...]]:
        found: dict[str, tuple[EntryPoint, ...]] = {}
        offered = [each for each in entry_points(tuple(sys.path)) if each.group == self._group]
        for entry in sorted(offered, key=lambda each: (not each.is_ours, each.name)):
            offers = found.get(entry.name, ())
            if not (offers and offers[0].is_ours):
                found[entry.name] = (*offers, entry)
        return found

    def _load(self, offers: tuple[EntryPoint, ...]) -> _T:
        first, *others = offers
        kind = f"{self._group} entry point {first.name!r}"
        if others:
            packages = " and ".join(sorted(each.package for each in offers))
            raise ExtensionError(
                "bad-extension", f"The {kind} is offered by {packages}.", "Uninstall one of them."
            )
        try:
            return cast("_T", first.load())
        except Exception as error:  # the module of another package may raise anything
            if first.is_ours:
                raise
            reason = f"{type(error).__name__}: {error}"
            raise ExtensionError(
                "bad-extension",
                f"The {kind} of the package {first.package} cannot be loaded: {reason}.",
                f"Upgrade {first.package}, or uninstall it.",
            ) from error


@functools.cache
def entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points in our groups of the packages that are installed on `path`.

    They are what `importlib.metadata.entry_points` finds, read from the same files in the format of
    the entry points specification. The library's own reader costs more than `toolplan --help`
    may take as a whole (benchmarks/start.py), most of it for parsing mail headers.
    """
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for folder in dict.fromkeys(path):
        for name in _metadata_folders(folder or os.curdir):
            package = name.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
            if package not in seen:  # the first one on the path is the one that is imported
                seen.add(package)
                found += _written(os.path.join(folder, name, _FILE), package)
    return tuple(found)


def _metadata_folders(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []  # what is on the path need not be a folder, nor be there


def _written(file: str, package: str) -> Iterator[EntryPoint]:
    try:
        with open(file, encoding="utf-8") as opened:
            lines = opened.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    group = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group.startswith(_PREFIX) and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield EntryPoint(package, group, name.strip(), value.strip())
