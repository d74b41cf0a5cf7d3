"""Documents of a few kinds of blocks, and their plain text.

Plain text and a terminal's colours are two forms of the same blocks. All text in a document is safe
to show (`toolplan.render.printable`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolplan.render.printable import cut, padded, text_width

WIDTH: Final = 100
_NARROWEST: Final = 6
_GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Lead:
    """The main sentence; `bad` if it reports a failure."""

    text: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part of the document."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on the block before it."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences, one a line; `bad` if they report failures."""

    items: tuple[str, ...]
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """Names with their values, one a line."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `numeric` says for each column whether it holds numbers."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = Lead | Heading | Note | Bullets | Fields | Table
Document: TypeAlias = tuple[Block, ...]


def document_text(document: Document, width: int = WIDTH) -> str:
    """Return `document` as lines of plain text; tables are at most `width` columns wide."""
    lines: list[str] = []
    for block in document:
        if isinstance(block, Heading) and lines:
            lines.append("")
        lines.extend(_lines(block, width))
    return "\n".join(line.rstrip() for line in lines)


def column_widths(table: Table, width: int) -> tuple[int, ...]:
    """Return the widths at which the columns of `table` fit into `width`.

    If there is no room, first the names of columns are cut, then the widest columns.
    """
    below = [
        max((text_width(row[at]) for row in table.rows), default=0)
        for at in range(len(table.columns))
    ]
    widths = [
        max(text_width(name), inside, 1) for name, inside in zip(table.columns, below, strict=True)
    ]
    room = width - len(_GAP) * (len(widths) - 1)
    least = [max(inside, _NARROWEST) for inside in below]
    _shrink(widths, least, room)
    _shrink(widths, [_NARROWEST] * len(widths), room)
    return tuple(widths)


def _shrink(widths: list[int], least: list[int], room: int) -> None:
    """Reduce the largest of `widths`, none below `least`, until they fit into `room`."""
    for _ in range(sum(widths) - room):
        at = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
        if widths[at] <= least[at]:
            return
        widths[at] -= 1


def _lines(block: Block, width: int) -> Iterator[str]:
    match block:
        case Lead(text=text) | Heading(text=text) | Note(text=text):
            yield text
        case Bullets(items=items):
            yield from (f"• {item}" for item in items)
        case Fields(pairs=pairs):
            names = max((text_width(name) for name, _ in pairs), default=0)
            yield from (f"{padded(name, names)}{_GAP}{value}" for name, value in pairs)
        case Table():
            yield from _table_lines(block, width)


def _table_lines(table: Table, width: int) -> Iterator[str]:
    widths = column_widths(table, width)

    def line(cells: tuple[str, ...]) -> str:
        return _GAP.join(
            padded(cut(cell, room), room, right=numeric)
            for cell, room, numeric in zip(cells, widths, table.numeric, strict=True)
        )

    yield line(table.columns)
    yield _GAP.join("─" * room for room in widths)
    yield from map(line, table.rows)
