"""Cells in aligned columns, whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolplan.render._lines import Line, Piece, Screen, wrapped
from toolplan.render.printable import padded, text_width

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
    """Yield a row of a grid with these `widths`, then `last`, wrapped in the room that is left.

    Where the room is narrow, `last` stands below the row.
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
