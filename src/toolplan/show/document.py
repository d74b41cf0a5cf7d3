"""Documents of a few kinds of blocks, and their plain text.

Plain text and a terminal's colours are two forms of the same blocks. All text in a document is safe
to show (`toolplan.show.printable`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.show._lines import (
    GAP,
    WIDTH,
    Line,
    Piece,
    Screen,
    grid_lines,
    grid_widths,
    pair_lines,
    plain,
    wrapped,
)

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
