"""What installed packages add to toolplan: dialects, rules, tools, sources of tools, planners.

A package offers them as entry points in the groups `toolplan.dialects`, `toolplan.rules`,
`toolplan.tools`, `toolplan.sources`, `toolplan.planners`, `toolplan.models` and
`toolplan.commands`. The built-in ones come in by the same entry points. What another package
offers is used behind a guard: its faults name it.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib import metadata
from typing import Final, Generic, ParamSpec, TypeVar, cast

from msgspec import Struct

from toolplan.base.errors import ToolplanError, sentence

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OURS: Final = "toolplan"
_PREFIX: Final = f"{_OURS}."
KINDS: Final[Mapping[str, str]] = {
    "toolplan.dialects": "dialect",
    "toolplan.rules": "rule",
    "toolplan.tools": "tool",
    "toolplan.sources": "source",
    "toolplan.planners": "planner",
    "toolplan.models": "provider",
    "toolplan.commands": "command",
}
"""What one entry point of a group is called."""


class ExtensionError(ToolplanError):
    """An installed package offers something that cannot be used. The code is `bad-extension`."""


class EntryPoint(Struct, frozen=True):
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
        return metadata.EntryPoint(self.name, self.value, self.group).load()

    @property
    def kind(self) -> str:
        """The kind of object: a dialect, for example."""
        return KINDS.get(self.group, f"{self.group} entry point")

    @property
    def label(self) -> str:
        """Its kind, its name and its package."""
        return f"{self.kind} {self.name!r} of the package {self.package}"

    def call(self, function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
        """Call a function of the package and return its result.

        Raises:
            ExtensionError: it raised anything but an error of toolplan.
        """
        try:
            return function(*args, **options)
        except ToolplanError:
            raise  # on purpose
        except Exception as error:  # the code of another package may raise anything
            raise self.fault(error) from error

    def fault(self, error: BaseException) -> ExtensionError:
        """Return the error that says what the package raised, and where."""
        shown = " ".join(str(error).split())
        reason = type(error).__name__ + (f": {shown}" if shown else "")
        top, failed = re.split("[:. ]", self.value.strip())[0], ""
        for frame, line in traceback.walk_tb(error.__traceback__):  # the last one in the package
            if str(frame.f_globals.get("__name__", "")).partition(".")[0] == top:
                failed = f"It failed at {frame.f_code.co_filename}:{line}. "
        help_ = f"{failed}Upgrade {self.package}, or uninstall it; --debug shows the traceback."
        return self.wrong(f"failed: {reason}", help_)

    def wrong(self, clause: str, help: str | None = None) -> ExtensionError:
        """Return the error that says what is wrong with what the package offers or returns."""
        help = help or f"Upgrade {self.package}, or uninstall it."
        return ExtensionError("bad-extension", sentence(f"The {self.label} {clause}"), help)

    def returned(self, value: object, *kinds: type[_T], by: str) -> _T:
        """Return `value`, which `by` of the package returned and must be one of `kinds`.

        Raises:
            ExtensionError: it is not.
        """
        if isinstance(value, kinds):
            return value
        names = " or ".join(each.__name__.replace("NoneType", "None") for each in kinds)
        what = described(value)
        if isinstance(value, Coroutine):
            value.close()  # nothing awaits it
        raise self.wrong(f"returned {what} from `{by}`, where {names} is needed")

    def instance(self, value: object, methods: str, texts: str = "", flags: str = "") -> None:
        """Check that `value` is an instance with these members.

        Raises:
            ExtensionError: it is a class, or a member is missing or of another kind.
        """
        if isinstance(value, type):
            made = f"Name an instance in its entry point: {self.value}()."
            raise self.wrong(f"is the class {value.__name__}, not an instance of it", made)
        for name in methods.split():
            if not callable(self.call(getattr, value, name, None)):
                raise self.wrong(f"has no method `{name}`")
        for names, kind, what in ((texts, str, "text"), (flags, bool, "flag")):
            for name in names.split():
                if not isinstance(self.call(getattr, value, name, None), kind):
                    raise self.wrong(f"has no {what} `{name}`")


class Extensions(Mapping[str, _T], Generic[_T]):
    """What installed packages offer under one group, by name; each is loaded when first asked for.

    Built-in names come first, in alphabetical order, then those of other packages. A name of ours
    cannot be taken by another package.
    """

    def __init__(self, group: str, guard: Callable[[EntryPoint, object], _T] | None = None) -> None:
        """Read the entry points of `group`.

        `guard` checks what another package offers, and returns it in a form whose faults name it.
        """
        self._group = group
        self._guard = guard
        self._loaded: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        """Return what is offered as `name`.

        Raises:
            KeyError: no package offers it.
            ExtensionError: it cannot be loaded, or two packages offer it.
        """
        if name in self._loaded:
            return self._loaded[name]
        first, *others = offers = self._offers[name]
        if others:
            packages = " and ".join(sorted(each.package for each in offers))
            raise ExtensionError(
                "bad-extension",
                f"The {first.kind} {first.name!r} is offered by {packages}.",
                "Uninstall one of them.",
            )
        try:
            loaded = first.load()
        except Exception as error:  # the module of another package may raise anything
            if first.is_ours:
                raise
            raise first.wrong(f"cannot be loaded: {type(error).__name__}: {error}") from error
        if self._guard is None or first.is_ours:
            self._loaded[name] = cast("_T", loaded)
        else:
            self._loaded[name] = self._guard(first, loaded)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._offers)

    def __len__(self) -> int:
        return len(self._offers)

    def __contains__(self, name: object) -> bool:
        return name in self._offers  # without loading it

    def entries(self) -> tuple[EntryPoint, ...]:
        """Return the entry points, all of them where several packages offer one name."""
        return tuple(entry for offers in self._offers.values() for entry in offers)

    @cached_property
    def _offers(self) -> dict[str, tuple[EntryPoint, ...]]:
        found: dict[str, tuple[EntryPoint, ...]] = {}
        offered = [each for each in entry_points(tuple(sys.path)) if each.group == self._group]
        for entry in sorted(offered, key=lambda each: (not each.is_ours, each.name)):
            offers = found.get(entry.name, ())
            if not (offers and offers[0].is_ours):
                found[entry.name] = (*offers, entry)
        return found


def described(value: object) -> str:
    """Describe `value` for an error message."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


@functools.cache
def entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points in our groups of the packages that are installed on `path`.

    They are what `importlib.metadata.entry_points` finds, but that a package whose file cannot be
    read offers nothing.
    """
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for folder in dict.fromkeys(each or os.curdir for each in path):
        infos: list[str] = []
        with suppress(OSError):  # an entry of the path may be a file, or missing
            infos = [e for e in os.listdir(folder) if e.endswith((".dist-info", ".egg-info"))]
        for info in infos:
            package = info.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
            if package in seen:  # the first one on the path is the one that is imported
                continue
            seen.add(package)
            # most packages offer nothing here; some have no such file, or not in the format
            with suppress(OSError, ValueError, TypeError):
                at = os.path.join(folder, info)
                with open(os.path.join(at, "entry_points.txt"), "rb") as file:
                    offers = _PREFIX.encode() in file.read()
                found += [
                    EntryPoint(package, each.group, each.name, each.value)
                    for each in (metadata.Distribution.at(at).entry_points if offers else ())
                    if each.group.startswith(_PREFIX)
                ]
    return tuple(found)
