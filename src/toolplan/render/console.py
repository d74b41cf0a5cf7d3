"""The rich console of commands: it wraps between words, and cuts nothing."""

from __future__ import annotations

from typing import Any, TextIO

from rich.console import Console

from toolplan.render._lines import WIDTH, Prose


class PlainConsole(Console):
    """A rich console that shows the lines of views as they are, also where they are too wide.

    On a terminal, and where `width` is given, sentences are wrapped; elsewhere they stay whole.
    """

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        wraps = file.isatty() or width is not None
        super().__init__(
            file=file,
            width=width if wraps else WIDTH,
            soft_wrap=not wraps,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 — as rich does
        """Print as rich does, without cutting lines at the width; texts are sentences."""
        if "end" not in options:
            objects = tuple(Prose(each) if isinstance(each, str) else each for each in objects)
        options.setdefault("crop", False)
        super().print(*objects, **options)
