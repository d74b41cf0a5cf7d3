"""Answers and other documents for a rich console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from toolplan.render.document import (
    Block,
    Bullets,
    Document,
    Fields,
    Heading,
    Lead,
    Note,
    Table,
    column_widths,
)
from toolplan.render.printable import cut, fit_encoding

_PADDING = 2


class Documented(Protocol):
    """An object with a document, such as an `Answer`."""

    @property
    def document(self) -> Document:
        """The document."""
        ...


@dataclass(frozen=True)
class AnswerView:
    """A document for a rich console."""

    document: Document

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for at, block in enumerate(self.document):
            if isinstance(block, Heading) and at:
                yield Text()
            yield _rendered(block, options.max_width, options.encoding)


def answer_view(answer: Documented) -> AnswerView:
    """Return `answer` for a rich console."""
    return AnswerView(answer.document)


def _rendered(block: Block, width: int, encoding: str) -> RenderableType:
    def text(content: str, style: str = "") -> Text:
        return Text(fit_encoding(content, encoding), style=style)

    match block:
        case Lead(text=content, bad=bad):
            return text(content, "bold red" if bad else "bold")
        case Heading(text=content):
            return text(content, "bold cyan")
        case Note(text=content):
            return text(content, "dim")
        case Bullets(items=items, bad=bad):
            grid = RichTable.grid(padding=(0, 1))
            for item in items:
                grid.add_row(text("•"), text(item, "red" if bad else ""))
            return grid
        case Fields(pairs=pairs):
            grid = RichTable.grid(padding=(0, _PADDING))
            for name, value in pairs:
                grid.add_row(text(name, "dim"), text(value))
            return grid
        case Table():
            return _table(block, width, encoding)


def _table(table: Table, width: int, encoding: str) -> RichTable:
    widths = column_widths(table, width)
    view = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for name, numeric, room in zip(table.columns, table.numeric, widths, strict=True):
        header = Text(fit_encoding(cut(name, room), encoding))
        view.add_column(header, justify="right" if numeric else "left", no_wrap=True)
    for row in table.rows:
        view.add_row(
            *(
                Text(fit_encoding(cut(cell, room), encoding))
                for cell, room in zip(row, widths, strict=True)
            )
        )
    return view
