"""Summaries: an answer in the words of a model, with every figure and identity checked.

The model sees the question, the computed answer and some of the rows. Its text is made safe (no
escape sequences, no links), and claims that are not found in the results are marked. Without a
model, or if it fails, the summary is the computed answer, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import Run, RunState, StepState
from toolplan.plan.path import Json
from toolplan.providers import Model, ModelError, complete
from toolplan.show.answer import Answer
from toolplan.show.printable import count_text, number_text, printable
from toolplan.show.summary.claims import Claim, check_claims, evidence_of
from toolplan.show.summary.prompt import summary_request
from toolplan.show.summary.text import (
    Format,
    computed_text,
    first_chars,
    first_words,
    in_markdown,
    notes_text,
    safe_text,
)

LENGTH: Final = 500
"""Maximum number of words of a summary (C-37)."""

_CHARS_A_WORD: Final = 32
_MOST_PROBLEMS: Final = 20
_MOST_NAMED: Final = 12


class Summary(Struct, frozen=True):
    """A summary in the words of a model; or the computed answer, and the `reason` for that."""

    format: Format
    text: str = ""  # all of it: failed steps, words with marks, notes; or the computed answer
    words: str = ""  # those of the model with their marks and notes
    said: str = ""  # the words without marks, into which the spans of `claims` point
    claims: tuple[Claim, ...] = ()  # every figure and identity of `said`
    notes: tuple[str, ...] = ()  # claims that were not found, removed links, a cut
    model: str = ""  # its name; empty for the computed answer
    reason: str = ""

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that were not found in the results."""
        return tuple(claim for claim in self.claims if not claim.found)

    @property
    def no_words(self) -> str:
        """Why the words of a model are not shown; empty where they are."""
        if not self.said:
            return f"No words of a model: {self.reason}." if self.reason else ""
        if not self.claims or any(claim.found for claim in self.claims):
            return ""
        shown = _named(self.claims)
        left_out = f"The words of {self.model} are left out"
        return f"{left_out}: nothing in them is in the results ({shown})."

    def beside(self, answer: Answer) -> str:
        """Return the computed answer with the model's words below it; a JSON text has both."""
        if self.format == "json" or not self.said:
            return self.text.rstrip()
        computed = computed_text(answer, self.format).rstrip()
        if self.no_words:
            return computed + notes_text([self.no_words], self.format)
        if self.format == "markdown":
            return f"{computed}\n\n### In the words of {in_markdown(self.model)}\n\n{self.words}"
        return f"{computed}\n\nIn the words of {self.model}:\n{self.words}"


class Summariser:
    """Writes summaries with a model, or without one."""

    def __init__(
        self, model: Model | None, *, format: Format = "plain", length: int = LENGTH
    ) -> None:
        """Write at most `length` words in `format`, with `model`; None for the computed answer.

        Raises:
            ValueError: `length` is less than 1.
        """
        if length < 1:
            raise ValueError("`length` must be at least 1.")
        self._model = model
        self._format: Format = format
        self._length = length

    async def summarise(
        self, answer: Answer, run: Run, question: str, *, withheld: str = ""
    ) -> Summary:
        """Return the summary of `answer`, the answer of `run` to `question`.

        `withheld` is why the model may not read the results; then it is not asked.
        """
        summary = await self._words(answer, run, question, withheld)
        if self._format == "json":
            text = _json(summary, answer, run)
        elif summary.said:
            text = _head(answer, run, self._format) + summary.words
        else:
            text = computed_text(answer, self._format) + notes_text(summary.notes, self._format)
        return replace(summary, text=text)

    async def _words(self, answer: Answer, run: Run, question: str, withheld: str) -> Summary:
        """Return the model's words, or the reason why there are none."""
        if not answer.sections:
            return Summary(self._format, reason="the run has no results to summarise")
        if self._model is None:
            return Summary(self._format, reason=withheld or "no model was given")
        if withheld:
            return self._failed(withheld)
        is_markdown = self._format == "markdown"
        request = summary_request(answer, run, question, self._length, markdown=is_markdown)
        try:
            reply = await complete(self._model, request)
        except ModelError as error:
            reason = printable(error.with_help).rstrip(". ")
            return self._failed(f"{reason} [{printable(error.code)}]")
        evidence = evidence_of(answer, run, question)
        raw = first_chars(reply.text, self._length * _CHARS_A_WORD)
        text, hosts = safe_text(raw, evidence.texts.__contains__, markdown=is_markdown)
        said = first_words(text, self._length)
        if not said:
            return self._failed("the model wrote nothing")
        claims = check_claims(said, evidence)
        notes: list[str] = []
        if names := _named([each for each in claims if not each.found]):
            notes.append(f"{'⚠' if is_markdown else '[?]'} not found in the results: {names}.")
        if hosts:
            notes.append(f"Links were removed (answer-link): {', '.join(hosts)}.")
        if raw != reply.text or said != text:
            notes.append(f"Cut at {count_text(self._length, 'word')}.")
        words = said
        for claim in reversed(claims):
            if not claim.found:
                start, end = claim.span
                mark = f"~~{claim.text}~~ ⚠" if is_markdown else f"{claim.text} [?]"
                words = words[:start] + mark + words[end:]
        words += notes_text(notes, self._format)
        return Summary(self._format, "", words, said, claims, tuple(notes), reply.model)

    def _failed(self, reason: str) -> Summary:
        notes = (f"Written without a model: {reason}.",)
        return Summary(self._format, notes=notes, reason=reason)


def _named(claims: Sequence[Claim]) -> str:
    """Return the first of `claims`, each once, and how many more there are."""
    texts = [*dict.fromkeys(" ".join(each.text.split()) for each in claims)]
    more = f" and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return ", ".join(texts[:_MOST_NAMED]) + more


def _head(answer: Answer, run: Run, form: Format) -> str:
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
    marked = [f"- **{in_markdown(line)}**" if form == "markdown" else f"• {line}" for line in lines]
    return "\n".join([*marked, "", ""]) if lines else ""


def _json(summary: Summary, answer: Answer, run: Run) -> str:
    claims: list[dict[str, Json]] = [
        {"text": each.text, "start": each.span[0], "end": each.span[1], "found": each.found}
        for each in summary.claims
    ]
    document: dict[str, Json] = {
        "summary": summary.said or computed_text(answer, "plain"),
        "model": summary.model or None,
        "reason": summary.reason or None,
        "status": run.status.value,
        "problems": [
            {"step": each.step, "state": each.state.value, "message": each.text}
            for each in answer.problems
        ],
        "unsupported": [each for each in claims if not each["found"]],
        "claims": [*claims],
        "notes": [*summary.notes],
        "answer": answer.to_json(),
    }
    return json.dumps(_without_nan(document), indent=2, allow_nan=False)


def _without_nan(value: Json) -> Json:
    """Return `value` with null for NaN and infinity."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_without_nan(inner) for inner in value]
        case dict():
            return {key: _without_nan(inner) for key, inner in value.items()}
        case _:
            return value
