"""How a run ended, as a command prints it."""

from __future__ import annotations

import sys

from toolplan.answer import Answer
from toolplan.approval import ApprovalRequired
from toolplan.cli._terminal import CommandError, Exit, out, print_json
from toolplan.events import Run, to_json
from toolplan.render.answer_view import answer_view
from toolplan.render.printable import fit_encoding


def print_run(run: Run, answer: Answer | None, *, as_json: bool) -> int:
    """Print what a run gave, and give the exit code."""
    if as_json:
        print_json({**to_json(run), "answer": None if answer is None else answer.to_json()})
    elif answer is not None:
        console = out()
        console.print()
        if console.is_terminal:
            console.print(answer_view(answer))
        else:  # text for other programs has no padding to a width
            sys.stdout.write(fit_encoding(answer.text, console.encoding).rstrip() + "\n")
    return (Exit.FINE if run.succeeded else Exit.FAILED).value


def approval_missing(required: ApprovalRequired) -> CommandError:
    """Give what to tell where a plan with effects has no leave to run."""
    return CommandError(
        "approval-required",
        f"The plan changes something and was not run. Its digest is {required.digest}.",
        "Read the plan; --yes gives leave to run it.",
        Exit.FAILED,
    )
