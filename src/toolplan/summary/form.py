"""The formats of a summary (plain text, Markdown, JSON), and marks on claims that are not found."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from toolplan.answer import Answer
from toolplan.events import Run, RunState, StepState
from toolplan.path import Json
from toolplan.render.document import (
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
from toolplan.render.printable import count_text, number_text
from toolplan.summary.claims import Claim
from toolplan.summary.text import in_markdown

Format: TypeAlias = Literal["plain", "markdown", "json"]

MARK: Final = "[?]"
"""The mark after a claim that was not found, in plain text."""

SIGN: Final = "⚠"
"""The mark in Markdown, where the claim is also struck through."""

_MOST_PROBLEMS: Final = 20
_MOST_NAMED: Final = 12


def head_lines(answer: Answer, run: Run) -> tuple[str, ...]:
    """Return a line for each step that did not succeed, shown before the text of the model."""
    lines: list[str] = []
    if run.status is not RunState.SUCCEEDED:
        done = sum(step.state is StepState.SUCCEEDED for step in run.steps.values())
        state = run.status.value.replace("_", " ")
        total = count_text(len(run.steps), "step")
        lines.append(f"State of the run: {state}; {done} of {total} succeeded.")
    lines += [problem.text for problem in answer.problems[:_MOST_PROBLEMS]]
    if more := len(answer.problems) - _MOST_PROBLEMS:
        lines += [f"{number_text(more, grouped=True)} more steps like these."] if more > 0 else []
    return tuple(lines)


def head_text(lines: Sequence[str], form: Format) -> str:
    """Return the head of a summary; empty without lines."""
    if not lines:
        return ""
    if form == "markdown":
        return "".join(f"- **{in_markdown(line)}**\n" for line in lines) + "\n"
    return "".join(f"• {line}\n" for line in lines) + "\n"


def marked(text: str, claims: Sequence[Claim], form: Format) -> str:
    """Return `text` with a mark after each claim that was not found."""
    parts: list[str] = []
    at = 0
    for claim in claims:
        start, end = claim.span
        if claim.found:
            continue
        said = text[start:end]
        parts.append(text[at:start])
        parts.append(f"~~{said}~~ {SIGN}" if form == "markdown" else f"{said} {MARK}")
        at = end
    return "".join([*parts, text[at:]])


def notes_of(
    claims: Sequence[Claim], hosts: Sequence[str], form: Format, *, cut_at: int | None
) -> tuple[str, ...]:
    """Return the notes on a text: claims that were not found, removed links, a cut."""
    notes: list[str] = []
    absent = list(dict.fromkeys(" ".join(each.text.split()) for each in claims if not each.found))
    if absent:
        named = ", ".join(absent[:_MOST_NAMED])
        more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
        sign = SIGN if form == "markdown" else MARK
        notes.append(f"{sign} not found in the results: {named}{more}.")
    if hosts:
        notes.append(f"Links were removed (answer-link): {', '.join(hosts)}.")
    if cut_at is not None:
        notes.append(f"Cut at {count_text(cut_at, 'word')}.")
    return tuple(notes)


def notes_text(notes: Sequence[str], form: Format) -> str:
    """Return the end of a summary; empty without notes."""
    if not notes:
        return ""
    lines = (f"*{in_markdown(note)}*" if form == "markdown" else note for note in notes)
    return "\n\n" + ("\n\n" if form == "markdown" else "\n").join(lines)


def template_text(answer: Answer, form: Format, *, details: bool) -> str:
    """Return the computed answer; without `details` it has no tables and fields."""
    document = answer.document
    if not details:
        kept = (block for block in document if not isinstance(block, Table | Fields | Heading))
        document = tuple(kept)
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
            yield _table_line(columns)
            yield _table_line(["--:" if right else ":--" for right in numeric], escape=False)
            yield from map(_table_line, rows)
            if hidden:
                yield f"\n{in_markdown(hidden_text(hidden))}"


def _table_line(cells: Sequence[str], *, escape: bool = True) -> str:
    return f"| {' | '.join(map(in_markdown, cells) if escape else cells)} |"


def json_text(
    said: str,
    claims: Sequence[Claim],
    answer: Answer,
    run: Run,
    *,
    model: str,
    reason: str,
    notes: Sequence[str],
    details: bool,
) -> str:
    """Return the summary as JSON, in ASCII; `unsupported` are the claims that were not found.

    `start` and `end` count characters of `summary`. With `details` it contains the computed answer.
    """
    document: dict[str, Json] = {
        "summary": said,
        "model": model or None,
        "reason": reason or None,
        "status": run.status.value,
        "problems": [
            {"step": each.step, "state": each.state.value, "message": each.text}
            for each in answer.problems
        ],
        "unsupported": [_claim_json(claim) for claim in claims if not claim.found],
        "claims": [_claim_json(claim) for claim in claims],
        "notes": [*notes],
    }
    if details:
        document["answer"] = answer.to_json()
    return json.dumps(_finite(document), indent=2, allow_nan=False)


def _claim_json(claim: Claim) -> dict[str, Json]:
    where: Json = None
    if claim.where is not None:
        origin, step, pointer = claim.where
        where = {"origin": origin.value, "step": step, "pointer": pointer}
    return {
        "text": claim.text,
        "kind": claim.kind.value,
        "start": claim.span[0],
        "end": claim.span[1],
        "where": where,
    }


def _finite(value: Json) -> Json:
    """Return `value` with null for NaN and infinity."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_finite(inner) for inner in value]
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case _:
            return value
