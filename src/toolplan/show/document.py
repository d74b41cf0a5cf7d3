"""Lines of styled pieces, and documents of a few kinds of blocks that are made of them.

Plain text and a terminal's colours are two forms of the same lines. A line that is too long is
broken between words only, and an amount stays beside its unit, so that no identifier, date or
amount is broken. All text in a document is safe to show (`toolplan.show.printable`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.show.printable import fit_encoding, padded, text_width

WIDTH: Final = 100
"""The columns of tables and trees where there is no terminal."""

# a number with the currency or day before it and the unit behind it: `EUR 1 362 kg`
_AMOUNT: Final = (
    r"(?:\(?(?:[A-Z]{3}|[€$£¥]) +|\d{4}-\d\d-\d\d,? +)?[-+(~≈€$£¥]*\d[\d.,:/]*"
    r"(?: +\d{3}[.,;)]*(?= |$))*(?: +[^ \d][^ ]{0,7})?"
)
_WORD: Final = re.compile(r" *(?P<word>[^ ]+)")
_CHUNK: Final = re.compile(rf" *(?P<word>{_AMOUNT}(?= |$)|[^ ]+)")
GAP: Final = "  "
_NARROWEST_VALUE: Final = 24


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
        encoding: the encoding of the characters.
    """

    width: int = WIDTH
    prose: int | None = None
    encoding: str = "utf-8"

    def fit(self, text: str) -> str:
        """Return `text` with what the screen cannot show replaced."""
        return fit_encoding(text, self.encoding)


class View(Protocol):
    """A printable value: its lines depend on the screen."""

    def lines(self, screen: Screen) -> Iterable[Line]:
        """Return the lines shown on `screen`."""
        ...


class Prose(Struct, frozen=True):
    """Sentences, a paragraph for each line of `text`."""

    text: str
    style: str = ""
    below: str = ""

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        for paragraph in self.text.split("\n"):
            indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
            line = (Piece(screen.fit(paragraph), self.style),)
            yield from wrapped(line, screen.prose, below=self.below + indent)


def plain(lines: Iterable[Line]) -> str:
    """Return `lines` as plain text."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def wrapped(
    line: Line, width: int | None, *, guide: str = "", below: str = "  ", style: str = "dim"
) -> Iterator[Line]:
    """Yield `line` in lines of at most `width` columns, the first after `guide`.

    Further lines stand after `below`, or after a part of it where a word needs the room. A word
    that is wider than `width` has a line of its own. `style` is that of `guide` and `below`.
    """

    def part(head: str, start: int, end: int) -> Line:
        """Return the characters of `line` from `start` to `end`, after `head`."""
        pieces = [Piece(head, style)] if head else []
        for piece in line:
            if text := piece.text[max(start, 0) : max(end, 0)]:
                pieces.append(Piece(text, piece.style))
            start, end = start - len(piece.text), end - len(piece.text)
        return tuple(pieces)

    text = "".join(piece.text for piece in line)
    if width is None:
        yield part(guide, 0, len(text))
        return
    columns = [0, *accumulate(map(text_width, text))]  # before each character
    start = end = 0
    head, used = guide, text_width(guide)
    for gap, first, last in _chunks(text, columns, width):
        size = columns[last] - columns[first]
        if used and used + columns[last] - columns[gap] > width:
            yield part(head, start, end)
            head = below[: max(width - size, 0)]
            start, used = first, text_width(head) + size
        else:
            used += columns[last] - columns[gap]
        end = last
    yield part(head, start, end)


def _chunks(text: str, columns: Sequence[int], width: int) -> Iterator[tuple[int, int, int]]:
    """Yield each unbreakable chunk: the start of the space before it, its own start, its end.

    That is a word, or an amount with its unit where they have room on one line.
    """
    for chunk in _CHUNK.finditer(text):
        first, last = chunk.span("word")
        is_whole = columns[last] - columns[first] <= width
        words = [chunk] if is_whole else _WORD.finditer(text, chunk.start(), last)
        yield from ((word.start(), *word.span("word")) for word in words)


def grid_widths(rows: Sequence[Sequence[Piece]]) -> list[int]:
    """Return the width of each column of `rows`."""
    return [max(text_width(cell.text) for cell in column) for column in zip(*rows, strict=True)]


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


def hanging_rows(rows: Sequence[tuple[Sequence[Piece], Piece]], screen: Screen) -> Iterator[Line]:
    """Yield rows of a grid, each with a last cell, wrapped to the remaining width.

    Where that is narrow, the last cell stands below its row. Empty columns are left out.
    """
    widths = grid_widths([cells for cells, _ in rows])
    room = sum(width + len(GAP) for width in widths if width)
    for cells, last in rows:
        row = tuple(
            Piece(padded(cell.text, width) + GAP, cell.style)
            for cell, width in zip(cells, widths, strict=True)
            if width
        )
        widest = max(map(text_width, last.text.split(" ")))
        needed = min(text_width(last.text), max(widest, _NARROWEST_VALUE))
        if screen.prose is None or room + needed <= screen.prose:
            yield from wrapped((*row, last), screen.prose, below=" " * room)
        else:
            yield from wrapped(row, screen.prose)
            yield from wrapped((last,), screen.prose, guide=GAP * 2, below=GAP * 2)


def pair_lines(pairs: Sequence[tuple[Piece, Piece]], screen: Screen) -> Iterator[Line]:
    """Yield names with their values; a value that has no room beside its name stands below it."""
    yield from hanging_rows([([name], value) for name, value in pairs], screen)


_FEWEST_COLUMNS: Final = 3  # of a table with fewer, each row is a list of its fields


class Lead(Struct, frozen=True):
    """The main sentence; `bad` if it reports a failure."""

    text: str
    bad: bool = False


class Heading(Struct, frozen=True):
    """The heading of a part of the document."""

    text: str


class Note(Struct, frozen=True):
    """A remark on the block before it."""

    text: str


class Bullets(Struct, frozen=True):
    """Sentences, one a line; `bad` if they report failures."""

    items: tuple[str, ...]
    bad: bool = False


class Fields(Struct, frozen=True):
    """Names with their values, one a line."""

    pairs: tuple[tuple[str, str], ...]


class Table(Struct, frozen=True):
    """Rows of cells, which are shown whole.

    Where there is no room for all columns, those of the highest rank are left out and named; where
    there is room for few, each row is a list of its fields.

    Attributes:
        columns: the names of the columns.
        numeric: for each column whether it holds numbers.
        rows: the cells of each row.
        ranks: for each column a number, lower for what is needed more; empty if all are alike.
        hidden: the names of columns that are not in the table.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...] = ()
    hidden: tuple[str, ...] = ()


Block: TypeAlias = Lead | Heading | Note | Bullets | Fields | Table
Document: TypeAlias = tuple[Block, ...]


class DocumentView(Struct, frozen=True):
    """A document, as it is printed."""

    document: Document

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        for at, block in enumerate(self.document):
            if isinstance(block, Heading) and at:
                yield ()
            yield from _lines(block, screen)


def document_text(document: Document, width: int = WIDTH) -> str:
    """Return `document` as lines of plain text; tables are at most `width` columns wide."""
    return plain(DocumentView(document).lines(Screen(width)))


def hidden_text(names: Sequence[str]) -> str:
    """Return which columns are not shown."""
    return f"Columns not shown: {', '.join(names)}."


def _lines(block: Block, screen: Screen) -> Iterator[Line]:
    def fit(text: str, style: str = "") -> Piece:
        return Piece(screen.fit(text), style)

    def prose(text: str, style: str, guide: str = "") -> Iterator[Line]:
        return wrapped(
            (fit(text, style),), screen.prose, guide=guide, below=" " * len(guide), style=style
        )

    match block:
        case Lead(text=text, bad=bad):
            yield from prose(text, "bold red" if bad else "bold")
        case Heading(text=text):
            yield from prose(text, "bold cyan")
        case Note(text=text):
            yield from prose(text, "dim")
        case Bullets(items=items, bad=bad):
            for item in items:
                yield from prose(item, "red" if bad else "", screen.fit("• "))
        case Fields(pairs=pairs):
            shown = [(fit(name, "dim"), fit(value)) for name, value in pairs]
            yield from pair_lines(shown, screen)
        case Table():
            yield from _table_lines(block, screen)


def _table_lines(table: Table, screen: Screen) -> Iterator[Line]:
    names = [Piece(screen.fit(name), "bold") for name in table.columns]
    rows = [[Piece(screen.fit(cell)) for cell in row] for row in table.rows]
    shown = _columns_with_room([names, *rows], table.ranks, screen.width)
    hidden = [name for at, name in enumerate(table.columns) if at not in shown]
    if len(shown) < min(_FEWEST_COLUMNS, len(names)):
        hidden = []
        for at, row in enumerate(rows):
            if at:
                yield ()
            pairs = [(Piece(name.text, "dim"), cell) for name, cell in zip(names, row, strict=True)]
            yield from pair_lines(pairs, replace(screen, prose=screen.width))
    else:
        kept = [[row[at] for at in shown] for row in (names, *rows)]
        widths = grid_widths(kept)
        kept.insert(1, [Piece(screen.fit("─") * room, "dim") for room in widths])
        yield from grid_lines(kept, numeric=[table.numeric[at] for at in shown])
    if names_left := (*hidden, *table.hidden):
        yield from wrapped((Piece(screen.fit(hidden_text(names_left)), "dim"),), screen.prose)


def _columns_with_room(
    rows: Sequence[Sequence[Piece]], ranks: Sequence[int], width: int
) -> list[int]:
    """Return the indexes of the columns that `width` has room for, the needed ones first."""
    widths = grid_widths(rows)
    order = sorted(range(len(widths)), key=lambda at: (ranks[at] if ranks else 0, at))
    room, shown = width + len(GAP), list[int]()
    for at in order:
        if widths[at] + len(GAP) <= room:
            room -= widths[at] + len(GAP)
            shown.append(at)
        elif not shown:
            return []
    return sorted(shown)
