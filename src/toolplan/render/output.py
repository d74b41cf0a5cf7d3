"""Where views are printed: a terminal, or a file or pipe, which needs no library for terminals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TextIO

from msgspec.structs import replace

from toolplan.render._lines import WIDTH, Prose, Screen, View

_CONTROLS: Final[Mapping[int, None]] = dict.fromkeys((7, 8, 11, 12, 13))
"""What rich leaves out, too: bell, backspace, vertical tab, form feed, carriage return."""
_TAB: Final = 8


class Drawn(Protocol):
    """A view that is drawn again and again, until it is stopped."""

    def start(self) -> None:
        """Draw it."""
        ...

    def stop(self) -> None:
        """Draw it for the last time."""
        ...


class Output(Protocol):
    """What views and sentences are printed on."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person may be looking at it."""
        ...

    @property
    def is_dumb_terminal(self) -> bool:
        """Whether it is a terminal on which nothing can be drawn again."""
        ...

    @property
    def width(self) -> int:
        """The columns of tables and trees."""
        ...

    @property
    def encoding(self) -> str:
        """What characters are written in."""
        ...

    def print(self, *shown: View | str, style: str = "", soft_wrap: bool | None = None) -> None:
        """Print views and sentences. With `soft_wrap` sentences are not wrapped."""
        ...

    def prompt(self, text: str) -> None:
        """Print a question, with no line break behind it."""
        ...

    def page(self, view: View) -> None:
        """Show `view` in the pager of the terminal, if it is longer than the terminal."""
        ...

    def live(self, view: Callable[[], View], per_second: float) -> Drawn:
        """Return what draws the view as it is, so many times a second; for terminals only."""
        ...


class FileOutput:
    """A file or a pipe: plain text. Sentences are whole lines where no `width` is given."""

    is_terminal = False
    is_dumb_terminal = False

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        self._file = file
        self.encoding = (getattr(file, "encoding", None) or "utf-8").lower()
        self.width = WIDTH if width is None else width
        self._screen = Screen(self.width, width, self.encoding)

    def print(self, *shown: View | str, style: str = "", soft_wrap: bool | None = None) -> None:
        """Print views and sentences; `style` is for terminals."""
        screen = replace(self._screen, prose=None) if soft_wrap else self._screen
        for each in shown or ("",):
            view = Prose(each) if isinstance(each, str) else each
            for line in view.lines(screen):
                self._write("".join(piece.text for piece in line) + "\n")
        self._file.flush()

    def prompt(self, text: str) -> None:
        """Print a question, with no line break behind it."""
        self._write(self._screen.fit(text))
        self._file.flush()

    def _write(self, text: str) -> None:
        self._file.write(text.translate(_CONTROLS).expandtabs(_TAB))

    def page(self, view: View) -> None:
        """Do nothing: there is no pager."""

    def live(self, view: Callable[[], View], per_second: float) -> Drawn:
        """Raise TypeError: nothing is drawn again in a file."""
        raise TypeError("a file is no terminal")
