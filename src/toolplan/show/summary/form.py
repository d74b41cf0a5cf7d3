"""The parts of a summary as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from toolplan.show.answer import Answer
from toolplan.show.document import (
    Block,
    Bullets,
    Document,
    Fields,
    Heading,
    Lead,
    Note,
    Table,
    document_text,
    hidden_text,
)
from toolplan.show.summary.text import in_markdown

Format: TypeAlias = Literal["plain", "markdown", "json"]


def notes_text(notes: Sequence[str], form: Format) -> str:
    """Return the end of a summary; empty without notes."""
    if form == "markdown":
        return "".join(f"\n\n*{in_markdown(note)}*" for note in notes)
    return "\n\n" + "\n".join(notes) if notes else ""


def computed_text(answer: Answer, form: Format) -> str:
    """Return the computed answer."""
    write = document_markdown if form == "markdown" else document_text
    return write(answer.document)


def document_markdown(document: Document) -> str:
    """Return `document` as Markdown with its text escaped."""
    return "\n\n".join("\n".join(_block_lines(block)) for block in document)


def _block_lines(block: Block) -> Iterator[str]:
    match block:
        case Lead(text=text):
            yield f"**{in_markdown(text)}**" if text else ""
        case Heading(text=text):
            yield f"### {in_markdown(text)}"
        case Note(text=text):
            yield in_markdown(text)
        case Bullets(items=items):
            yield from (f"- {in_markdown(item)}" for item in items)
        case Fields(pairs=pairs):
            yield from (f"- **{in_markdown(name)}**: {in_markdown(value)}" for name, value in pairs)
        case Table(columns=columns, numeric=numeric, rows=rows, hidden=hidden):
            line = "| {} |".format
            yield line(" | ".join(map(in_markdown, columns)))
            yield line(" | ".join("--:" if right else ":--" for right in numeric))
            yield from (line(" | ".join(map(in_markdown, row))) for row in rows)
            if hidden:
                yield f"\n{in_markdown(hidden_text(hidden))}"
