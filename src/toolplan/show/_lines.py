"""Lines of styled pieces: plain text and a console's colours are two forms of the same words.

A line that is too long is broken between words only, and an amount stays beside its unit, so that
no identifier, date or amount is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from toolplan.show.printable import fit_encoding, padded, text_width

WIDTH: Final = 100
"""The columns of tables and trees where there is no terminal."""

_WORD: Final = re.compile(r" *(?P<word>[^ ]+)")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d,?")
_CURRENCIES: Final = "€$£¥"
_UNIT_WIDTH: Final = 8


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Piece, ...]


class Screen(Struct, frozen=True):
    """Where lines are shown.

    Attributes:
        width: the columns of tables and trees.
        prose: the columns of sentences; None where they are not wrapped, as in a file.
        encoding: what the characters are written in.
    """

    width: int = WIDTH
    prose: int | None = None
    encoding: str = "utf-8"

    def fit(self, text: str) -> str:
        """Return `text` with what the screen cannot show replaced."""
        return fit_encoding(text, self.encoding)


class View(Protocol):
    """What is printed: lines that depend on where they are shown."""

    def lines(self, screen: Screen) -> Iterable[Line]:
        """Return what is shown on `screen`."""
        ...


class Prose(Struct, frozen=True):
    """Sentences, a paragraph for each line of `text`."""

    text: str
    style: str = ""
    below: str = ""

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        for paragraph in self.text.split("\n"):
            indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
            line = (Piece(screen.fit(paragraph), self.style),)
            yield from wrapped(line, screen.prose, below=self.below + indent)


def plain(lines: Iterable[Line]) -> str:
    """Return `lines` as plain text."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def line_width(line: Iterable[Piece]) -> int:
    """Return the columns that `line` takes."""
    return sum(text_width(piece.text) for piece in line)


def wrapped(
    line: Line, width: int | None, *, guide: str = "", below: str = "  ", style: str = "dim"
) -> Iterator[Line]:
    """Yield `line` in lines of at most `width` columns, the first after `guide`.

    Further lines stand after `below`, or after a part of it where a word needs the room. A word
    that is wider than `width` has a line of its own. `style` is that of `guide` and `below`.
    """
    if width is None:
        yield (*_guide(guide, style), *line)
        return
    columns = [0, *accumulate(map(text_width, _text(line)))]  # before each character
    start = end = 0
    head, used = guide, text_width(guide)
    for gap, first, last in _chunks(_text(line), columns, width):
        size = columns[last] - columns[first]
        if used and used + columns[last] - columns[gap] > width:
            yield (*_guide(head, style), *_part(line, start, end))
            head = below[: max(width - size, 0)]
            start, used = first, text_width(head) + size
        else:
            used += columns[last] - columns[gap]
        end = last
    yield (*_guide(head, style), *_part(line, start, end))


def shown_lines(lines: Iterable[Line], screen: Screen) -> Iterator[Line]:
    """Yield `lines` wrapped below their own indentation."""
    for line in lines:
        fitting = tuple(Piece(screen.fit(text), style) for text, style in line)
        text = _text(fitting)
        indent = text[: len(text) - len(text.lstrip())]
        yield from wrapped(fitting, screen.prose, below=indent + "  ")


def _guide(text: str, style: str) -> Line:
    return (Piece(text, style),) if text else ()


def _part(line: Line, start: int, end: int) -> Iterator[Piece]:
    """Yield the characters of `line` from `start` to `end`."""
    for text, style in line:
        if part := text[max(start, 0) : max(end, 0)]:
            yield Piece(part, style)
        start, end = start - len(text), end - len(text)


def _chunks(text: str, columns: Sequence[int], width: int) -> Iterator[tuple[int, int, int]]:
    """Yield each unbreakable chunk: the start of the space before it, its own start, its end.

    That is a word, or an amount with its unit where they have room on one line.
    """
    gap = start = end = 0
    before = ""
    for found in _WORD.finditer(text):
        first, last = found.span("word")
        fits = columns[last] - columns[start] <= width
        if not (before and fits and _belong(before, found["word"])):
            if before:
                yield gap, start, end
            gap, start = found.start(), first
        end, before = last, found["word"]
    if before:
        yield gap, start, end


def _text(word: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in word)


def _belong(before: str, after: str) -> bool:
    """Return whether a line may not be broken between two words: `8650 kg`, `EUR 20`."""
    if after[:1].isdigit():
        return (
            _is_currency(before.removeprefix("("))
            or (_is_number(before) and len(after.rstrip(".,;)")) == 3)
            or _DAY.fullmatch(before) is not None
        )
    return _is_number(before) and text_width(after) <= _UNIT_WIDTH


def _is_currency(word: str) -> bool:
    is_code = len(word) == 3 and word.isascii() and word.isalpha() and word.isupper()
    return is_code or (len(word) == 1 and word in _CURRENCIES)


def _is_number(word: str) -> bool:
    number = word.lstrip("-+(~≈" + _CURRENCIES)
    return number[:1].isdecimal() and all(each.isdecimal() or each in ".,:/" for each in number)


GAP: Final = "  "
_NARROWEST_VALUE: Final = 24


def grid_widths(rows: Sequence[Sequence[Piece]]) -> list[int]:
    """Return the width of each column of `rows`."""
    return [max(map(text_width, texts)) for texts in zip(*map(_texts, rows), strict=True)]


def grid_width(rows: Sequence[Sequence[Piece]]) -> int:
    """Return the columns that `rows` take as a grid."""
    widths = grid_widths(rows)
    return sum(widths) + len(GAP) * max(len(widths) - 1, 0)


def grid_lines(rows: Sequence[Sequence[Piece]], *, numeric: Sequence[bool] = ()) -> Iterator[Line]:
    """Yield `rows` as aligned columns, those that are `numeric` to the right."""
    widths = grid_widths(rows)
    right = numeric or (False,) * len(widths)
    for row in rows:
        texts = [
            padded(cell.text, room, right=is_right)
            for cell, room, is_right in zip(row, widths, right, strict=True)
        ]
        ends = [GAP] * (len(texts) - 1) + [""]
        texts[-1] = texts[-1].rstrip()
        yield tuple(
            Piece(text + end, cell.style) for text, end, cell in zip(texts, ends, row, strict=True)
        )


def hanging_lines(
    cells: Sequence[Piece], widths: Sequence[int], last: Piece, screen: Screen
) -> Iterator[Line]:
    """Yield a row of a grid with these `widths`, then `last`, wrapped to the remaining width.

    Where that is narrow, `last` stands below the row.
    """
    first = sum(widths) + len(GAP) * len(widths)
    row = tuple(
        Piece(padded(cell.text, room) + GAP, cell.style)
        for cell, room in zip(cells, widths, strict=True)
    )
    needed = min(text_width(last.text), max(_widest_word(last.text), _NARROWEST_VALUE))
    if screen.prose is None or first + needed <= screen.prose:
        yield from wrapped((*row, last), screen.prose, below=" " * first)
    else:
        yield from wrapped(row, screen.prose)
        yield from wrapped((last,), screen.prose, guide=GAP * 2, below=GAP * 2)


def hanging_rows(rows: Sequence[tuple[Sequence[Piece], Piece]], screen: Screen) -> Iterator[Line]:
    """Yield rows of a grid, each with a last cell that is wrapped; empty columns are left out."""
    widths = grid_widths([cells for cells, _ in rows])
    shown = [at for at, width in enumerate(widths) if width]
    for cells, last in rows:
        kept = [cells[at] for at in shown]
        yield from hanging_lines(kept, [widths[at] for at in shown], last, screen)


def pair_lines(pairs: Sequence[tuple[Piece, Piece]], screen: Screen) -> Iterator[Line]:
    """Yield names with their values; a value that has no room beside its name stands below it."""
    yield from hanging_rows([([name], value) for name, value in pairs], screen)


def _widest_word(text: str) -> int:
    return max(map(text_width, text.split(" ")))


def _texts(row: Sequence[Piece]) -> Iterator[str]:
    return (cell.text for cell in row)
