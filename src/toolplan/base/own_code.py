"""Faults in the user's own code: where they are, and the traceback without frames of libraries."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

_OURS: Final = str(Path(__file__).parents[1]) + os.sep
_PACKAGES: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


class OwnFault(Struct, frozen=True):
    """A fault in the user's own code.

    Attributes:
        place: `FILE:LINE` of the last frame in it, the file as seen from the working folder.
        error: the exception, on one line.
        trace: the traceback, of own frames only, as Python prints it.
    """

    place: str
    error: str
    trace: str


def own_fault(error: BaseException) -> OwnFault | None:
    """Return where in the user's own code `error` was raised; None where that has no part in it.

    Own code is neither toolplan's nor Python's nor that of an installed package. Where all of it is
    installed, the packages count as own.
    """
    for is_own in (_is_own, _may_be_own):
        found = traceback.TracebackException.from_exception(error)
        for each in _parts(found):
            each.stack[:] = [frame for frame in each.stack if is_own(frame.filename)]
        place = _place(found)
        if place is not None:
            lines = ["an error", *_leaf(found).format_exception_only()]
            return OwnFault(place, lines[-1].strip(), "".join(found.format()).rstrip("\n"))
    return None


def _is_own(file: str) -> bool:
    return _may_be_own(file) and not any(each in file for each in _PACKAGES)


def _may_be_own(file: str) -> bool:
    if file.startswith(("<frozen ", _OURS)):
        return False
    is_package = any(each in file for each in _PACKAGES)  # which the standard library contains
    return is_package or not file.startswith(_stdlib())


@cache
def _stdlib() -> tuple[str, ...]:
    """Return the folders of Python's own modules."""
    names = ("stdlib", "platstdlib")
    return tuple(path + os.sep for name in names if (path := sysconfig.get_path(name)))


def _parts(found: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """Yield an exception, its causes and the members of groups, each once."""
    waiting, seen = [found], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        more = (*(getattr(each, "exceptions", None) or ()), each.__cause__, each.__context__)
        waiting += [part for part in reversed(more) if part is not None]


def _leaf(found: traceback.TracebackException) -> traceback.TracebackException:
    """Return the first exception in a group; other exceptions as they are."""
    while members := getattr(found, "exceptions", None):
        found = members[0]
    return found


def _place(found: traceback.TracebackException) -> str | None:
    for each in (*_parts(_leaf(found)), *_parts(found)):
        file = getattr(each, "filename", None)
        if file is not None and getattr(each, "lineno", None):  # a SyntaxError
            return f"{_seen(file)}:{each.lineno}"
        if each.stack:
            last = each.stack[-1]
            return f"{_seen(last.filename)}:{last.lineno}"
    return None


def _seen(file: str) -> str:
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):  # another drive, or no working folder
        return file
    return file if relative.startswith("..") else relative
