"""A summary, as it is printed, with marks on unsupported claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from toolplan.render._lines import Line, Piece, Prose, Screen, wrapped

_MARK = " [?]"


class Summarised(Protocol):
    """A summary, such as `toolplan.summary.summariser.Summary`."""

    @property
    def text(self) -> str:
        """The whole summary, in its format."""
        ...

    @property
    def said(self) -> str:
        """The text of the model, made safe, without marks; may be empty."""
        ...

    @property
    def head(self) -> tuple[str, ...]:
        """Sentences on the steps that did not succeed."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the text."""
        ...

    @property
    def unsupported_spans(self) -> tuple[tuple[int, int], ...]:
        """Places in `said` of claims that are not in the results, in order."""
        ...


class SummaryView(Struct, frozen=True):
    """A summary, as it is printed. A mark is never a colour alone."""

    summary: Summarised

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        if not self.summary.said:
            yield from Prose(self.summary.text).lines(screen)
            return
        for line in self.summary.head:
            yield from Prose(f"• {line}", "red", below="  ").lines(screen)
        if self.summary.head:
            yield ()
        for line in _paragraphs(self.summary, screen):
            yield from wrapped(line, screen.prose, below="")
        if self.summary.notes:
            yield ()
        for note in self.summary.notes:
            yield from Prose(note, "dim").lines(screen)


def summary_view(summary: Summarised) -> SummaryView:
    """Return `summary` as it is printed."""
    return SummaryView(summary)


def _paragraphs(summary: Summarised, screen: Screen) -> Iterator[Line]:
    """Yield each line of the model's text, with its marks."""
    pieces: list[Piece] = []
    at = 0
    for start, end in summary.unsupported_spans:
        pieces.append(Piece(summary.said[at:start]))
        pieces.append(Piece(summary.said[start:end], "strike"))
        pieces.append(Piece(_MARK, "bold yellow"))
        at = end
    pieces.append(Piece(summary.said[at:]))
    line: list[Piece] = []
    for text, style in pieces:
        first, *others = screen.fit(text).split("\n")
        line.append(Piece(first, style))
        for other in others:
            yield tuple(line)
            line = [Piece(other, style)]
    yield tuple(line)
