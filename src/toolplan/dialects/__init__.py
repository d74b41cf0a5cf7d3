"""Ways to write plans. Each is an entry point, and is loaded when it is first asked for."""

from collections.abc import Mapping
from typing import Final

from toolplan.dialects._base import Dialect, StepStream, has_key
from toolplan.errors import ToolplanError
from toolplan.extensions import Extensions

DIALECTS: Final[Mapping[str, Dialect]] = Extensions[Dialect]("toolplan.dialects")
"""Every dialect by its name."""


def known_dialect(name: str) -> Dialect:
    """Return the dialect `name`.

    Raises:
        ToolplanError: there is none of that name.
    """
    if name not in DIALECTS:
        raise ToolplanError(
            "unknown-dialect", f"There is no dialect {name!r}.", f"There are {', '.join(DIALECTS)}."
        )
    return DIALECTS[name]


def dialect_of(text: str, prefer: str = "toolplan") -> str:
    """Return the name of the dialect that `text`, as a model wrote it, looks like.

    `prefer` comes first, then the dialects whose text is JSON; it is also the answer where no
    dialect recognises the text.
    """
    names = sorted(DIALECTS, key=lambda name: (name != prefer, not DIALECTS[name].json))
    return next((name for name in names if DIALECTS[name].recognises(text)), prefer)


__all__ = ["DIALECTS", "Dialect", "StepStream", "dialect_of", "has_key", "known_dialect"]
