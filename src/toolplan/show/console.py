"""Output by rich, on a terminal or in a file: it wraps between words, and cuts nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn, TextIO

from msgspec import Struct
from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from toolplan.show.document import WIDTH, Prose, Screen, View


class Rendered(Struct, frozen=True):
    """A view as rich prints it."""

    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        # a console that does not wrap takes sentences whole
        prose = None if options.no_wrap else options.max_width
        for line in self.view.lines(Screen(options.max_width, prose, options.encoding)):
            yield Text.assemble(*line, no_wrap=True, overflow="ignore")


class Output:
    """A terminal, with its colours; or a file or pipe, with plain text."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @classmethod
    def of(cls, file: TextIO, width: int | None = None) -> Output:
        """Return the output to `file`.

        On a terminal, and where `width` is given, sentences are wrapped; elsewhere they stay whole.
        """
        wraps = file.isatty() or width is not None
        console = _Console(
            file=file,
            width=width if wraps else WIDTH,
            soft_wrap=not wraps,
            highlight=False,
            markup=False,
            emoji=False,
        )
        return cls(console)

    @property
    def is_terminal(self) -> bool:
        """Whether a person may be looking at it."""
        return self._console.is_terminal

    @property
    def is_dumb_terminal(self) -> bool:
        """Whether it is a terminal on which nothing can be drawn again."""
        return self._console.is_dumb_terminal

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        return self._console.width

    @property
    def encoding(self) -> str:
        """The encoding of characters."""
        return self._console.encoding

    def print(self, *shown: View | str, style: str = "", soft_wrap: bool | None = None) -> None:
        """Print views and sentences, without cutting lines at the width."""
        views = [Prose(each) if isinstance(each, str) else each for each in shown]
        self._console.print(
            *map(Rendered, views), style=style or None, soft_wrap=soft_wrap, crop=False
        )

    def prompt(self, text: str) -> None:
        """Print a question, with no line break behind it."""
        self._console.print(text, end="", crop=False)

    def page(self, view: View) -> None:
        """Show `view` in the pager of the terminal, if it is longer than the terminal."""
        lines = self._console.render_lines(Rendered(view), pad=False)
        if len(lines) >= self._console.height:
            with self._console.pager():
                self.print(view)

    def live(self, view: Callable[[], View], per_second: float) -> Live:
        """Return a display that redraws the view `per_second` times a second."""
        return Live(
            console=self._console,
            get_renderable=lambda: Rendered(view()),
            refresh_per_second=per_second,
        )


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Let the command end as any program whose reader has gone; the library's would exit."""
        raise BrokenPipeError
