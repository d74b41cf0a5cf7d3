"""Summaries: an answer in the words of a model, with every figure and identity checked.

The model sees the question, the computed analysis and some of the rows. Each sentence is made safe
(no escape sequences, no links), and claims that are not found in the results are marked. Without a
model, or if it fails, the summary is the computed answer, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.answer import Answer
from toolplan.events import Run
from toolplan.plan import Plan
from toolplan.providers import Ended, Model, ModelError, ModelRequest, Restarted, Text, Usage
from toolplan.render._lines import Line, Piece, Prose, Screen, wrapped
from toolplan.render.printable import printable
from toolplan.summary.claims import Claim, check_claims
from toolplan.summary.evidence import Evidence, evidence_of, folded
from toolplan.summary.form import (
    MARK,
    Format,
    head_lines,
    head_text,
    json_text,
    marked,
    notes_of,
    notes_text,
    template_text,
)
from toolplan.summary.prompt import ROWS_BYTES, Style, Tone, summary_request
from toolplan.summary.text import (
    cleaned,
    first_words,
    in_markdown,
    pieces_of,
    without_links,
    without_markup,
)

LENGTH: Final = 500
"""The most words of a summary (C-37)."""

OnText: TypeAlias = Callable[[str], None]

_CHARS_A_WORD: Final = 32
_MOST_NAMED: Final = 6
_NO_MODEL: Final = "no model was given"
_NO_RESULTS: Final = "the run has no results to summarise"


class Summary(Struct, frozen=True):
    """A summary.

    Attributes:
        text: the whole text in its format, with failed steps and marks.
        claims: every figure and identity of `said`, and where it was found.
        format: the format of `text`.
        said: the safe text of the model without marks, into which the spans of `claims` point;
            empty for the computed answer.
        head: lines on the steps that did not succeed.
        notes: claims that were not found, removed links, a cut.
        model: the name of the model; empty for the computed answer.
        reason: why it is the computed answer, or empty.
        usage: the usage that the model reported.
    """

    text: str
    claims: tuple[Claim, ...]
    format: Format
    said: str = ""
    head: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""
    reason: str = ""
    usage: Usage | None = None

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that were not found in the results."""
        return tuple(claim for claim in self.claims if not claim.found)

    @property
    def unsupported_spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the claims in `said` that were not found."""
        return tuple(claim.span for claim in self.unsupported)

    @property
    def is_unfounded(self) -> bool:
        """Whether it claims something, and nothing of it is in the results."""
        return bool(self.claims) and not any(claim.found for claim in self.claims)

    @property
    def no_words(self) -> str:
        """Why the words of a model are not shown; empty where they are."""
        if not self.said:
            return f"No words of a model: {self.reason}." if self.reason else ""
        if not self.is_unfounded:
            return ""
        named = dict.fromkeys(" ".join(claim.text.split()) for claim in self.claims)
        shown = ", ".join([*named][:_MOST_NAMED])
        return (
            f"The words of {self.model} are left out: nothing in them is in the results ({shown})."
        )

    def beside(self, answer: Answer) -> str:
        """Return the computed answer with the model's words below it; a JSON text has both."""
        if self.format == "json" or not self.said:
            return self.text.rstrip()
        computed = template_text(answer, self.format, details=True).rstrip()
        words = self.text
        if self.no_words:
            words = notes_text([self.no_words], self.format)
        elif self.format == "markdown":
            words = f"### In the words of {in_markdown(self.model)}\n\n{words}"
        else:
            words = f"In the words of {self.model}:\n{words}"
        return f"{computed}\n\n{words.strip()}"


class SummaryView(Struct, frozen=True):
    """A summary, as it is printed. A mark is never a colour alone."""

    summary: Summary

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        if not self.summary.said:
            yield from Prose(self.summary.text).lines(screen)
            return
        for line in self.summary.head:
            yield from Prose(f"• {line}", "red", below="  ").lines(screen)
        if self.summary.head:
            yield ()
        for line in _paragraphs(self.summary, screen):
            yield from wrapped(line, screen.prose, below="")
        if self.summary.notes:
            yield ()
        for note in self.summary.notes:
            yield from Prose(note, "dim").lines(screen)


def _paragraphs(summary: Summary, screen: Screen) -> Iterator[Line]:
    """Yield each line of the model's text, with its marks."""
    pieces: list[Piece] = []
    at = 0
    for start, end in summary.unsupported_spans:
        pieces.append(Piece(summary.said[at:start]))
        pieces.append(Piece(summary.said[start:end], "strike"))
        pieces.append(Piece(f" {MARK}", "bold yellow"))
        at = end
    pieces.append(Piece(summary.said[at:]))
    line: list[Piece] = []
    for text, style in pieces:
        first, *others = screen.fit(text).split("\n")
        line.append(Piece(first, style))
        for other in others:
            yield tuple(line)
            line = [Piece(other, style)]
    yield tuple(line)


class Summariser:
    """Writes summaries with a model, or without one."""

    def __init__(
        self,
        model: Model | None,
        *,
        format: Format = "plain",
        length: int = LENGTH,
        tone: Tone = "professional",
        include_details: bool = True,
        include_recommendations: bool = True,
        rows_bytes: int = ROWS_BYTES,
    ) -> None:
        """Configure the summaries.

        Args:
            model: the model; None for the computed answer.
            format: the format of the text.
            length: the most words.
            tone: the tone of the text.
            include_details: the figures behind the main points; in JSON also the computed answer,
                and without a model the tables.
            include_recommendations: recommendations by the model.
            rows_bytes: how many bytes of rows the model sees.

        Raises:
            ValueError: `length` is less than 1, or `rows_bytes` less than 0.
        """
        if length < 1 or rows_bytes < 0:
            raise ValueError("`length` must be at least 1, and `rows_bytes` at least 0.")
        self._model = model
        self._format: Format = format
        self._style = Style(
            length, tone, include_details, include_recommendations, format == "markdown"
        )
        self._rows_bytes = rows_bytes

    async def summarise(
        self,
        answer: Answer,
        run: Run,
        question: str,
        on_text: OnText | None = None,
        *,
        plan: Plan | None = None,
        withheld: str = "",
    ) -> Summary:
        """Return the summary of `answer`, the answer of `run` to `question`.

        `on_text` is called with each sentence as soon as it is checked; together they are the text
        (for JSON, the plain text). If the model fails in between, the reason and the computed
        answer follow. With `plan`, identities and years of its literals are found, too. `withheld`
        is why the model may not read the results; then it is not asked.
        """
        emit = on_text or _ignore
        head = head_lines(answer, run)
        if withheld and answer.sections:
            return self._template(answer, run, head, withheld, emit)
        if self._model is None or not answer.sections:
            reason = _NO_MODEL if self._model is None else _NO_RESULTS
            return self._template(answer, run, head, reason, emit)
        evidence = evidence_of(answer, run, question=question, plan=plan)
        writing = _Writing(
            evidence, self._format, self._style.length, emit, head_text(head, self._format)
        )
        request = summary_request(answer, run, question, self._style, rows_bytes=self._rows_bytes)
        try:
            await writing.read(self._model, request)
        except ModelError as error:
            reason = printable(error.with_help).rstrip(". ") + f" [{printable(error.code)}]"
            if writing.said:
                emit(f"\n\n({reason}.)\n\n")
            return self._template(answer, run, head, reason, emit)
        if not writing.said:
            return self._template(answer, run, head, "the model wrote nothing", emit)
        return self._written(answer, run, head, writing, emit)

    def _template(
        self, answer: Answer, run: Run, head: tuple[str, ...], reason: str, emit: OnText
    ) -> Summary:
        # a note only if the text of a model was expected
        is_noted = self._model is not None and reason != _NO_RESULTS
        notes = (f"Written without a model: {reason}.",) if is_noted else ()
        body = template_text(answer, self._format, details=self._style.details)
        body += notes_text(notes, self._format)
        emit(body)
        if self._format == "json":
            body = json_text(
                template_text(answer, "plain", details=self._style.details),
                (),
                answer,
                run,
                model="",
                reason=reason,
                notes=notes,
                details=self._style.details,
            )
        return Summary(body, (), self._format, head=head, notes=notes, reason=reason)

    def _written(
        self, answer: Answer, run: Run, head: tuple[str, ...], writing: _Writing, emit: OnText
    ) -> Summary:
        claims = tuple(writing.claims)
        cut_at = self._style.length if writing.is_cut else None
        notes = notes_of(claims, tuple(writing.hosts), self._format, cut_at=cut_at)
        end = notes_text(notes, self._format)
        emit(end)
        text = head_text(head, self._format) + writing.shown + end
        if self._format == "json":
            text = json_text(
                writing.said,
                claims,
                answer,
                run,
                model=writing.model,
                reason="",
                notes=notes,
                details=self._style.details,
            )
        return Summary(
            text,
            claims,
            self._format,
            said=writing.said,
            head=head,
            notes=notes,
            model=writing.model,
            usage=writing.usage,
        )


class _Writing:
    """The text that a model is writing, made safe and checked sentence by sentence."""

    def __init__(
        self, evidence: Evidence, form: Format, most: int, emit: OnText, head: str
    ) -> None:
        self.said = ""
        self.shown = ""
        self.claims: list[Claim] = []
        self.hosts: dict[str, None] = {}
        self.is_cut = False
        self.model = ""
        self.usage: Usage | None = None
        self._evidence = evidence
        self._form: Format = form
        self._most = most
        self._words = 0
        self._emit = emit
        self._head = head  # before the first sentence
        self._open = ""
        self._space = ""  # after the last sentence, used if more follows

    async def read(self, model: Model, request: ModelRequest) -> None:
        """Read the reply of `model` to its end, or up to the maximal length.

        Raises:
            ModelError: the reply is incomplete.
        """
        self.model = model.name
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case Text(text=text):
                        self._add(text)
                    case Restarted(reason=reason):
                        self._restart(reason)
                    case Ended(model=name, usage=usage):
                        self.model, self.usage = name, usage
                        self._keep(self._open)
                        return
                if self.is_cut:
                    return
        raise ModelError(
            "llm-stream-cut",
            f"The reply of {model.name} is incomplete.",
            "Ask again, or name another model.",
        )

    def _add(self, text: str) -> None:
        whole, self._open = pieces_of(self._open + text)
        for piece in whole:
            self._keep(piece)

    def _restart(self, reason: str) -> None:
        if self.said:
            self._emit(f"\n\n({printable(reason).rstrip('.')}; started again.)\n\n")
        self.said, self.shown, self._open, self._space, self._words = "", "", "", "", 0
        self.claims.clear()
        self.hosts.clear()

    def _keep(self, piece: str) -> None:
        if self.is_cut:
            return
        text = self._safe(piece)
        words = text.split()
        if self._words + len(words) > self._most:
            text = first_words(text, self._most - self._words)
            self.is_cut = True
        if len(self.said) > self._most * _CHARS_A_WORD:  # a word that does not end
            self.is_cut = True
            return
        self._words += len(words)
        body = text.strip()
        if not body:
            self._space += text if self.said else ""
            return
        lead = text[: len(text) - len(text.lstrip())]
        before = _gap(self._space + lead) if self.said else ""
        # the claims of this piece, with spans in the whole text
        start = len(self.said) + len(before)
        found = check_claims(body, self._evidence)
        self.claims += [
            replace(claim, span=(claim.span[0] + start, claim.span[1] + start)) for claim in found
        ]
        shown = before + marked(body, found, self._form)
        self.said += before + body
        self.shown += shown
        self._emit(self._head + shown)
        self._head = ""
        self._space = text[len(text.rstrip()) :]

    def _safe(self, piece: str) -> str:
        markdown = self._form == "markdown"
        text = cleaned(piece) if markdown else without_markup(cleaned(piece))
        text, hosts = without_links(text, self._is_known, markdown=markdown)
        self.hosts.update(dict.fromkeys(hosts))
        return text

    def _is_known(self, address: str) -> bool:
        # only a whole value: an address within a text may be an attack
        return folded(address) in self._evidence.texts


def _gap(space: str) -> str:
    """Return the white space between two pieces: at most one blank line, and the indentation."""
    lines = space.count("\n")
    return "\n" * min(lines, 2) + space.rpartition("\n")[2] if lines else space[:1]


def _ignore(text: str) -> None:
    del text
