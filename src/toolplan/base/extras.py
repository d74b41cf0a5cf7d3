"""How to install an extra, for the way in which toolplan is installed here."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from toolplan.base.errors import ToolplanError


@cache
def own_version() -> str:
    """Return the version of toolplan.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    return metadata.version("toolplan")


INSTALL: Final = "Install it: "
"""What stands before a command that installs something."""
_OURS: Final = "toolplan"
_PREFIX: Final = f"{_OURS}-"
_NOT_LISTED: Final = ("all", "dev")
_BESIDE: Final[Mapping[str, Mapping[str, str]]] = {
    "command": {"demo": "demo", "studio": "studio", "submit": "workers", "worker": "workers"},
    "dialect": {"arazzo": "openapi", **dict.fromkeys(("clear", "kirha", "state"), "adapters")},
    "journal": {"postgres": "workers", "postgresql": "workers"},
    "planner": {"contract": "adapters"},
    "source": {"openapi": "openapi"},
}
"""The extra that brings what the core does not have, by kind and name."""


def install_command(extra: str) -> str:
    """Return the command that installs `extra` into this Python.

    From a clone it names the clone, and the folders in it of the distributions beside toolplan.
    Elsewhere it names the libraries of the extra: the archive from which toolplan was installed may
    be gone, and no package index need have it.
    """
    try:
        installed = metadata.distribution(_OURS)
        clone = _clone(installed.read_text("direct_url.json"))
        libraries = _libraries(installed.requires or (), extra)
    except metadata.PackageNotFoundError:
        clone, libraries = None, []
    what = libraries or [f"{_OURS}[{extra}]"]
    if clone is not None:
        ours = [
            each.partition("-")[2] for each in map(_name, libraries) if each.startswith(_PREFIX)
        ]
        folders = [f"{clone}[{extra}]", *(f"{clone}/packages/{each}" for each in ours)]
        what = [word for folder in folders for word in ("-e", folder)]
    return shlex.join([sys.executable, "-m", "pip", "install", *what])


def missing(extra: str) -> str | None:
    """Return how to install the distribution that `extra` brings; None where it is installed."""
    if find_spec(f"{_OURS}_{extra}") is not None:
        return None
    return f"{INSTALL}{install_command(extra)}"


def check_beside(kind: str, name: str, subject: str | None = None) -> None:
    """Check that `name`, which is not installed, is not of a distribution beside the core.

    `subject` is what needs it, as the subject of a sentence.

    Raises:
        ToolplanError: it is one's; the help is the command that installs it.
    """
    if extra := _BESIDE[kind].get(name):
        subject = subject or f"The {kind} {name!r}"
        message = f"{subject} needs the package {_OURS}-{extra}, which is not installed."
        raise ToolplanError("missing-extra", message, f"{INSTALL}{install_command(extra)}")


def extra_of(module: str) -> str | None:
    """Return the extra that brings the library with the module `module`; None for others."""
    name = module.partition(".")[0].replace("_", "-")
    bringing = {extra: each for extra, each in _by_extra().items() if name in map(_name, each)}
    return min(bringing, key=lambda extra: len(bringing[extra]), default=None)


class Extra(Struct, frozen=True):
    """An extra of toolplan: its libraries, with the version of each that is installed."""

    name: str
    libraries: Mapping[str, str | None]


def extras() -> list[Extra]:
    """Return the extras that users install; none where toolplan itself is not installed."""
    found: list[Extra] = []
    for extra, libraries in _by_extra().items():
        versions = {name: _version(name) for name in map(_name, libraries) if name != _OURS}
        if versions and extra not in _NOT_LISTED:
            found.append(Extra(extra, versions))
    return found


def _by_extra() -> dict[str, list[str]]:
    """Return the libraries of each extra, as requirements."""
    try:
        installed = metadata.distribution(_OURS)
    except metadata.PackageNotFoundError:
        return {}
    extras = map(str, installed.metadata.get_all("Provides-Extra") or ())
    return {extra: _libraries(installed.requires or (), extra) for extra in extras}


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _clone(direct_url: str | None) -> Path | None:
    """Return the folder of an editable installation; None where it was not one, or it is gone."""
    try:
        document = json.loads(direct_url or "{}")
        if not document["dir_info"]["editable"]:
            return None
        folder = Path(unquote(urlsplit(str(document["url"])).path))
    except (ValueError, KeyError, TypeError):
        return None
    return folder if folder.is_dir() else None


def _libraries(requires: Iterable[str], extra: str) -> list[str]:
    found: list[str] = []
    for each in requires:
        library, _, marker = each.partition(";")
        if f'extra=="{extra}"' in marker.replace("'", '"').replace(" ", ""):
            found.append(library.strip())
    return found


def _name(requirement: str) -> str:
    """Return the name in a requirement: `rstr` of `rstr>=3.2`."""
    return re.split(r"[^\w.-]", requirement)[0].replace("_", "-").lower()
