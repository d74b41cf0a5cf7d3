"""Answers and other documents for a rich console."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult

from toolplan.render._lines import Screen, styled
from toolplan.render.document import Document, document_lines


class Documented(Protocol):
    """An object with a document, such as an `Answer`."""

    @property
    def document(self) -> Document:
        """The document."""
        ...


class AnswerView(Struct, frozen=True):
    """A document for a rich console."""

    document: Document

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from styled(document_lines(self.document, Screen.of(options)))


def answer_view(answer: Documented) -> AnswerView:
    """Return `answer` for a rich console."""
    return AnswerView(answer.document)
