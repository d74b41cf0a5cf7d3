"""How a run ended, as a command prints it."""

from __future__ import annotations

import sys
from typing import Final

from toolplan.answer import Answer
from toolplan.cli._terminal import Exit, note, out, print_json
from toolplan.events import Run, to_json
from toolplan.render.answer_view import answer_view
from toolplan.render.printable import fit_encoding, printable
from toolplan.render.runs_view import SHORT

_MOST_PLACES: Final = 8


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
    if not as_json:
        print_doubts(run)
    return (Exit.FINE if run.succeeded else Exit.FAILED).value


def interrupted(run: str) -> str:
    """Return what to tell where a run was interrupted."""
    short = run[:SHORT]
    return (
        f"Interrupted. `toolplan show {short}` tells how it stands, "
        f"`toolplan resume {short}` goes on with it."
    )


def print_doubts(run: Run) -> None:
    """Tell which calls a person has to decide about, and how."""
    short = run.run[:SHORT]
    for name, step in run.steps.items():
        places = [name if item is None else f"{name}:{item}" for item in step.in_doubt]
        if not places:
            continue
        shown = ", ".join(places[:_MOST_PLACES]) + (" …" if len(places) > _MOST_PLACES else "")
        first = places[0]
        note(f"{printable(shown)}: nobody knows whether this did its work.")
        note(f"  make it again:             toolplan resume {short} --retry {first}")
        note(f"  it did, and gave a value:  toolplan resume {short} --resolve {first}=JSON")
        note(f"  it did not, let it fail:   toolplan resume {short} --abort {first}")
        if len(places) > 1:
            note(f"  Decide about all {len(places)} calls; an option can be given many times.")
