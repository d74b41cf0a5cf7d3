"""What installed packages add to toolplan: dialects, rules, sources of tools, planners.

A package offers them as entry points in the groups `toolplan.dialects`, `toolplan.rules`,
`toolplan.sources` and `toolplan.planners`. The built-in ones come in by the same entry points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from toolplan.errors import ToolplanError

_T = TypeVar("_T")
_OURS = "toolplan"


class ExtensionError(ToolplanError):
    """An installed package offers something that cannot be used. The code is `bad-extension`."""


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
        ordered = sorted(
            entry_points(group=self._group), key=lambda each: (not _is_ours(each), each.name)
        )
        for entry in ordered:
            offers = found.get(entry.name, ())
            if not (offers and _is_ours(offers[0])):
                found[entry.name] = (*offers, entry)
        return found

    def _load(self, offers: tuple[EntryPoint, ...]) -> _T:
        first, *others = offers
        kind = f"{self._group} entry point {first.name!r}"
        if others:
            packages = " and ".join(sorted(_package(each) for each in offers))
            raise ExtensionError(
                "bad-extension", f"The {kind} is offered by {packages}.", "Uninstall one of them."
            )
        try:
            return cast("_T", first.load())
        except Exception as error:  # the module of another package may raise anything
            if _is_ours(first):
                raise
            reason = f"{type(error).__name__}: {error}"
            raise ExtensionError(
                "bad-extension",
                f"The {kind} of the package {_package(first)} cannot be loaded: {reason}.",
                f"Upgrade {_package(first)}, or uninstall it.",
            ) from error


def _package(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else entry.dist.name


def _is_ours(entry: EntryPoint) -> bool:
    return entry.value.partition(":")[0].partition(".")[0] == _OURS
