"""How a run ended, as a command prints it."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from toolplan.answer import Answer
from toolplan.cli import _values
from toolplan.cli.terminal import Exit, note, out, print_json
from toolplan.events import Run, to_json
from toolplan.forecast import Forecast
from toolplan.path import Json
from toolplan.providers import UsageTracker
from toolplan.render import doubt_view, runs_view
from toolplan.render.document import DocumentView
from toolplan.render.forecast_view import compared_text, forecast_text
from toolplan.render.printable import fit_encoding, printable
from toolplan.summary import Summary, SummaryView


def print_run(
    run: Run, answer: Answer | None, *, as_json: bool, summary: Summary | None = None,
    strict: bool = False,
) -> int:  # fmt: skip
    """Print the result of a run, and return the exit code.

    With `strict` an answer over a part of a list is not printed, and the code is that of a failure.
    """
    refused = strict and bool(run.partial)
    if refused and not as_json:
        parts = "; ".join(printable(each.text) for each in run.partial)
        note(f"Not answered, as --strict asks: it would be over a part only: {parts}.")
    elif as_json:
        document: dict[str, Json] = {
            **to_json(run),
            "answer": None if answer is None else answer.to_json(),
        }
        if summary is not None:
            document["summary"] = _summary_json(summary)
        print_json(document)
    else:
        if answer is not None and summary is not None and summary.format != "plain":
            sys.stdout.write(fit_encoding(summary.beside(answer), out().encoding) + "\n")
        elif answer is not None:
            console = out()
            console.print()
            console.print(DocumentView(answer.document))
            if summary is not None:
                _print_words(summary)
        print_doubts(run)
        if run.waiting:
            _values.print_waiting(run)
    return (Exit.FINE if run.succeeded and not refused else Exit.FAILED).value


def _print_words(summary: Summary) -> None:
    """Print a model's words below the computed answer, or why they are left out."""
    if summary.no_words:
        note(printable(summary.no_words))
    elif summary.said:
        out().print(f"\nIn the words of {printable(summary.model)}:", soft_wrap=True)
        out().print(SummaryView(replace(summary, head=())))


def _summary_json(summary: Summary) -> Json:
    return {
        "text": summary.text,
        "format": summary.format,
        "model": summary.model or None,
        "reason": summary.reason or None,
        "unsupported": [claim.text for claim in summary.unsupported],
    }


def stopped_help(run: str) -> str:
    """Return how to see and resume a run that has stopped."""
    short = run[: runs_view.SHORT]
    return f"`toolplan show {short}` shows the run, `toolplan resume {short}` resumes it."


def print_doubts(run: Run) -> None:
    """Print which calls a person has to decide about, what they are, and how to decide."""
    if any(step.doubts for step in run.steps.values()):
        for line in doubt_view.doubt_lines(run):
            note(line)


def report_forecast(expected: Forecast) -> None:
    """Print what a run is expected to take, where earlier calls say anything."""
    if expected.p90_s > 0:
        note(f"Expected: {forecast_text(expected)}.")


def report_comparison(expected: Forecast | None, run: Run) -> None:
    """Print what a run took beside what was expected, where anything was."""
    if expected is not None and expected.p90_s > 0 and run.took_s is not None:
        note(f"It {compared_text(expected, run.took_s)}.")


def report_usage(tracker: UsageTracker) -> None:
    """Print what models have used, where any was asked."""
    usage = tracker.usage
    if not usage.calls:
        return
    calls = f"{usage.calls} model call{'s' if usage.calls > 1 else ''}"
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    note(f"{calls}: {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}.")
