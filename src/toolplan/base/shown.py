"""Values that print as the command line shows them, and as the same text in a notebook.

Such a value knows nothing of what renders it: the package gives the renderer when it is loaded
(`toolplan.__init__`), and the renderer's libraries are loaded by the first print.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Final

_MOST_NAMES: Final = 6
_MOST_TEXT: Final = 80

_renderers: list[Callable[[object], str]] = []


def use_renderer(renderer: Callable[[object], str]) -> None:
    """Let `renderer` return the text of values, instead of the one before."""
    _renderers[:] = [renderer]


def shown_text(value: object) -> str:
    """Return `value` as the command line shows it."""
    return _renderers[0](value) if _renderers else repr(value)


def shown_html(value: object) -> str:
    """Return what prints of `value` as HTML, escaped."""
    return f"<pre>{html.escape(str(value))}</pre>"


def listed(names: Sequence[str]) -> str:
    """Return the first of `names`, for a short repr."""
    shown = [repr(name)[1:-1] for name in names[:_MOST_NAMES]]
    return ", ".join([*shown, "…"] if len(names) > _MOST_NAMES else shown)


def counted(count: int, what: str) -> str:
    """Return a count of things, for a short repr.

    >>> counted(1, "step"), counted(2, "step")
    ('1 step', '2 steps')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"


def short(text: str) -> str:
    """Return the repr of the beginning of `text`."""
    return repr(text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…")


class Shown:
    """A value that prints as the command line shows it."""

    __slots__ = ()

    def __str__(self) -> str:
        return shown_text(self)

    def _repr_html_(self) -> str:
        return shown_html(self)
