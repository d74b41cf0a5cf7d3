"""The parts of a summary as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from toolplan.events import Run, RunState, StepState
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
from toolplan.show.printable import count_text, number_text
from toolplan.show.summary.claims import Claim
from toolplan.show.summary.text import in_markdown

Format: TypeAlias = Literal["plain", "markdown", "json"]

_MOST_PROBLEMS: Final = 20
_MOST_NAMED: Final = 12


def head_text(answer: Answer, run: Run, form: Format) -> str:
    """Return a line for each step that did not succeed, to be shown before a model's words."""
    lines: list[str] = []
    if run.status is not RunState.SUCCEEDED:
        done = sum(step.state is StepState.SUCCEEDED for step in run.steps.values())
        state = run.status.value.replace("_", " ")
        total = count_text(len(run.steps), "step")
        lines.append(f"State of the run: {state}; {done} of {total} succeeded.")
    lines += [problem.text for problem in answer.problems[:_MOST_PROBLEMS]]
    if (more := len(answer.problems) - _MOST_PROBLEMS) > 0:
        lines.append(f"{number_text(more, grouped=True)} more steps like these.")
    if not lines:
        return ""
    marked = (f"- **{in_markdown(line)}**" if form == "markdown" else f"• {line}" for line in lines)
    return "\n".join([*marked, "", ""])


def marked(text: str, claims: Sequence[Claim], form: Format) -> str:
    """Return `text` with a mark on each claim that was not found."""
    for claim in reversed(claims):
        if not claim.found:
            start, end = claim.span
            mark = f"~~{claim.text}~~ ⚠" if form == "markdown" else f"{claim.text} [?]"
            text = text[:start] + mark + text[end:]
    return text


def named(claims: Sequence[Claim]) -> str:
    """Return the first of `claims`, each once, and how many more there are."""
    texts = [*dict.fromkeys(" ".join(each.text.split()) for each in claims)]
    more = f" and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return ", ".join(texts[:_MOST_NAMED]) + more


def notes_text(notes: Sequence[str], form: Format) -> str:
    """Return the end of a summary; empty without notes."""
    if not notes:
        return ""
    lines = (f"*{in_markdown(note)}*" if form == "markdown" else note for note in notes)
    return "\n\n" + ("\n\n" if form == "markdown" else "\n").join(lines)


def computed_text(answer: Answer, form: Format) -> str:
    """Return the computed answer."""
    document = answer.document
    return document_markdown(document) if form == "markdown" else document_text(document)


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
            yield _table_line(map(in_markdown, columns))
            yield _table_line("--:" if right else ":--" for right in numeric)
            yield from (_table_line(map(in_markdown, row)) for row in rows)
            if hidden:
                yield f"\n{in_markdown(hidden_text(hidden))}"


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
