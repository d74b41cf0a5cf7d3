"""The answer in a model's words, each figure of them checked."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from toolplan.app import AskResult
from toolplan.cli._outcome import print_doubts
from toolplan.cli._planning import report_usage
from toolplan.cli._terminal import Exit, note, out, print_json
from toolplan.events import to_json
from toolplan.path import Json
from toolplan.providers import Model, UsageTracker
from toolplan.render.printable import fit_encoding
from toolplan.render.summary_view import summary_view
from toolplan.summary.summary import Summariser, Summary

SummaryOption: TypeAlias = Annotated[
    Literal["plain", "markdown", "json"] | None,
    Parameter(name="--summary", help="Let the model of --model put the answer into words."),
]


def print_summary(
    asked: AskResult,
    model: Model | None,
    form: Literal["plain", "markdown", "json"],
    tracker: UsageTracker | None,
    *,
    as_json: bool,
) -> int:
    """Print the answer as a summary, and give the exit code."""
    if asked.run is None or asked.answer is None:
        return Exit.FAILED.value
    summary = asyncio.run(
        Summariser(model, format=form).summarise(
            asked.answer,
            asked.run,
            asked.question.text,
            plan=None if asked.plan is None else asked.plan.plan,
        )
    )
    if as_json:
        document: Json = {
            **to_json(asked.run),
            "answer": asked.answer.to_json(),
            "summary": _json(summary),
        }
        print_json(document)
    else:
        report_usage(tracker)
        if summary.reason:
            note(f"The computed answer: {summary.reason}.")
        if form == "plain":
            out().print(summary_view(summary), soft_wrap=True)
        else:
            sys.stdout.write(fit_encoding(summary.text, out().encoding).rstrip() + "\n")
        print_doubts(asked.run)
    return (Exit.FINE if asked.run.succeeded else Exit.FAILED).value


def _json(summary: Summary) -> Json:
    return {
        "text": summary.text,
        "format": summary.format,
        "model": summary.model or None,
        "reason": summary.reason or None,
        "unsupported": [claim.text for claim in summary.unsupported],
    }
