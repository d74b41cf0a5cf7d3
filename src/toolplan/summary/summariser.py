"""The summary: an answer in a model's words, each figure and name of which is checked.

The model sees the question, the computed analysis and some of the rows. What it writes is looked at
sentence by sentence, before anybody reads it: nothing that steers a terminal, no links, and a mark
on every claim that stands nowhere in the results. Without a model, or where it fails, the computed
answer stands, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from toolplan.answer import Answer
from toolplan.events import Run
from toolplan.plan import Plan
from toolplan.providers import Ended, Model, ModelError, ModelRequest, Restarted, Text, Usage
from toolplan.render.printable import printable
from toolplan.summary.claims import Claim, check_claims
from toolplan.summary.evidence import Evidence, evidence_of, folded
from toolplan.summary.form import (
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
    pieces_of,
    without_links,
    without_markup,
)

LENGTH: Final = 500
"""The most words of a summary (C-37)."""

Tell: TypeAlias = Callable[[str], None]

_CHARS_A_WORD: Final = 32
_NO_MODEL: Final = "no model was given"
_NO_RESULTS: Final = "the run gave nothing to summarise"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, ready to be shown.

    Attributes:
        text: all of it in its format, with what the run says of failed steps, and with marks.
        claims: every figure, date and name of `said`, and where each was found.
        format: the form of `text`.
        said: what the model wrote, made safe, without marks: the spans of `claims` are places in
            it. Empty where the computed answer stands.
        head: what the run says of steps that did not succeed.
        notes: what the reader has to know: claims that were not found, links left out, a cut.
        model: who wrote it; empty where the computed answer stands.
        reason: why the computed answer stands; else empty.
        usage: what the model used, as far as it told.
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
        """Where in `said` the claims stand that were not found."""
        return tuple(claim.span for claim in self.unsupported)


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
        """Hold how summaries are written.

        Args:
            model: who writes; None for the computed answer as it is.
            format: the form of the text.
            length: the most words of what the model writes.
            tone: how it writes.
            include_details: figures behind the main points; in JSON the computed answer as well,
                and without a model the tables.
            include_recommendations: what might be done; the computed answer has none.
            rows_bytes: how much of the rows the model is shown, in bytes.

        Raises:
            ValueError: `length` is less than 1, or `rows_bytes` less than 0.
        """
        if length < 1 or rows_bytes < 0:
            raise ValueError("A summary has at least one word, and rows take no less than no room.")
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
        on_text: Tell | None = None,
        *,
        plan: Plan | None = None,
    ) -> Summary:
        """Return the summary of `answer`, which tells of `run`, to `question`.

        `on_text` is called with each sentence as soon as it is written and checked: together they
        are the text of the summary, for JSON that of its plain form. Where the model fails half
        way, the reason and the computed answer follow. With the `plan` the days that it asks for
        and the names of its tools may be spoken of.
        """
        tell = on_text or _nobody
        head = head_lines(answer, run)
        if self._model is None or not answer.sections:
            reason = _NO_MODEL if self._model is None else _NO_RESULTS
            return self._template(answer, run, head, reason, tell)
        evidence = evidence_of(answer, run, question=question, plan=plan)
        writing = _Writing(
            evidence, self._format, self._style.length, tell, head_text(head, self._format)
        )
        request = summary_request(answer, run, question, self._style, rows_bytes=self._rows_bytes)
        try:
            await writing.read(self._model, request)
        except ModelError as error:
            reason = printable(f"{error} {error.help}").rstrip(". ") + f" [{printable(error.code)}]"
            if writing.said:
                tell(f"\n\n({reason}.)\n\n")
            return self._template(answer, run, head, reason, tell)
        if not writing.said:
            return self._template(answer, run, head, "the model wrote nothing", tell)
        return self._written(answer, run, head, writing, tell)

    def _template(
        self, answer: Answer, run: Run, head: tuple[str, ...], reason: str, tell: Tell
    ) -> Summary:
        # a word on it is needed only where somebody expected a model's words
        told = self._model is not None and reason != _NO_RESULTS
        notes = (f"Written without a model: {reason}.",) if told else ()
        body = template_text(answer, self._format, details=self._style.details)
        body += notes_text(notes, self._format)
        tell(body)
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
        self, answer: Answer, run: Run, head: tuple[str, ...], writing: _Writing, tell: Tell
    ) -> Summary:
        claims = tuple(writing.claims)
        cut_at = self._style.length if writing.is_cut else None
        notes = notes_of(claims, tuple(writing.hosts), self._format, cut_at=cut_at)
        end = notes_text(notes, self._format)
        tell(end)
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
    """What a model is writing: each sentence is made safe and checked before it is shown."""

    def __init__(self, evidence: Evidence, form: Format, most: int, tell: Tell, head: str) -> None:
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
        self._report = tell
        self._head = head  # told with the first sentence: without one the answer tells it itself
        self._open = ""
        self._space = ""  # of the end of what was shown: it counts only where more follows

    async def read(self, model: Model, request: ModelRequest) -> None:
        """Read the reply of `model` to its end, or to the greatest length.

        Raises:
            ModelError: there is no whole reply.
        """
        self.model = model.name
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case Text(text=text):
                        self._add(text)
                    case Restarted(reason=reason):
                        self._begin_anew(reason)
                    case Ended(model=name, usage=usage):
                        self.model, self.usage = name, usage
                        self._keep(self._open)
                        return
                if self.is_cut:
                    return
        raise ModelError(
            "llm-stream-cut",
            f"The reply of {model.name} ended before it was whole.",
            "Ask again, or name another model.",
        )

    def _add(self, text: str) -> None:
        whole, self._open = pieces_of(self._open + text)
        for piece in whole:
            self._keep(piece)

    def _begin_anew(self, reason: str) -> None:
        if self.said:
            self._report(f"\n\n({printable(reason).rstrip('.')}; begun anew.)\n\n")
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
        if len(self.said) > self._most * _CHARS_A_WORD:  # of words that never end
            self.is_cut = True
            return
        self._words += len(words)
        body = text.strip()
        if not body:
            self._space += text if self.said else ""
            return
        lead = text[: len(text) - len(text.lstrip())]
        before = _gap(self._space + lead) if self.said else ""
        # the claims are those of this piece, at their places in the whole
        start = len(self.said) + len(before)
        found = check_claims(body, self._evidence)
        self.claims += [
            replace(claim, span=(claim.span[0] + start, claim.span[1] + start)) for claim in found
        ]
        shown = before + marked(body, found, self._form)
        self.said += before + body
        self.shown += shown
        self._report(self._head + shown)
        self._head = ""
        self._space = text[len(text.rstrip()) :]

    def _safe(self, piece: str) -> str:
        markdown = self._form == "markdown"
        text = cleaned(piece) if markdown else without_markup(cleaned(piece))
        text, hosts = without_links(text, self._is_known, markdown=markdown)
        self.hosts.update(dict.fromkeys(hosts))
        return text

    def _is_known(self, address: str) -> bool:
        # only a whole value: an address inside of a text may be what that text wants clicked
        return folded(address) in self._evidence.texts


def _gap(space: str) -> str:
    """Return the white space between two pieces: at most one blank line, and what indents."""
    lines = space.count("\n")
    return "\n" * min(lines, 2) + space.rpartition("\n")[2] if lines else space[:1]


def _nobody(text: str) -> None:
    del text
