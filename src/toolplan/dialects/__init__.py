"""Ways to write plans. Each is an entry point, and is loaded when it is first asked for."""

import re
from collections.abc import Mapping
from typing import Final

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import Extensions
from toolplan.base.extras import check_beside
from toolplan.dialects._base import Choosing, Dialect, StepStream, guarded_dialect, has_key

DIALECTS: Final[Mapping[str, Dialect]] = Extensions[Dialect]("toolplan.dialects", guarded_dialect)
"""Every dialect by its name."""


def known_dialect(name: str) -> Dialect:
    """Return the dialect `name`.

    A choice may follow the name: `arazzo:NAME?INPUT=VALUE` is the workflow NAME of a document of
    Arazzo, with a value for an input of it.

    Raises:
        ToolplanError: there is no dialect of that name, or it has no choices.
    """
    base = base_name(name)
    if base not in DIALECTS:
        check_beside("dialect", base)
        raise ToolplanError(
            "unknown-dialect", f"There is no dialect {base!r}.", f"There are {', '.join(DIALECTS)}."
        )
    found = DIALECTS[base]
    if base == name:
        return found
    chosen = found.chosen(name.removeprefix(base)) if isinstance(found, Choosing) else None
    if chosen is None:
        message = f"The dialect {base!r} has nothing to choose: {name!r}."
        raise ToolplanError("unknown-dialect", message, f"Name it alone: {base}.")
    return chosen


def base_name(name: str) -> str:
    """Return the name of a dialect without the choice that may follow it."""
    return re.split("[:?]", name, maxsplit=1)[0]


def dialect_of(text: str, prefer: str = "toolplan") -> str:
    """Return the name of the dialect that `text`, as a model wrote it, looks like.

    `prefer` comes first, then the dialects whose text is JSON; it is also the answer where no
    dialect recognises the text.
    """
    first = base_name(prefer)
    if DIALECTS[first].recognises(text):  # the others need not be imported
        return prefer
    others = sorted(DIALECTS, key=lambda name: not DIALECTS[name].json)
    return next((name for name in others if DIALECTS[name].recognises(text)), prefer)


__all__ = [
    "DIALECTS",
    "Dialect",
    "StepStream",
    "base_name",
    "dialect_of",
    "has_key",
    "known_dialect",
]
