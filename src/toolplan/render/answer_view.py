"""Answers and other documents, as they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from toolplan.render._lines import Line, Screen
from toolplan.render.document import Document, document_lines


class Documented(Protocol):
    """An object with a document, such as an `Answer`."""

    @property
    def document(self) -> Document:
        """The document."""
        ...


class AnswerView(Struct, frozen=True):
    """A document, as it is printed."""

    document: Document

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        yield from document_lines(self.document, screen)


def answer_view(answer: Documented) -> AnswerView:
    """Return `answer` as it is printed."""
    return AnswerView(answer.document)
