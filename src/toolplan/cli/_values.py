"""Approval of calls with their values: the question on the terminal, and what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from toolplan.cli._display import Display
from toolplan.cli._terminal import discard_input, err, note, show_long
from toolplan.consent import Answer, Denied, Effect, effects_of
from toolplan.events import Run
from toolplan.render.effects_view import EffectsView, by_step
from toolplan.render.printable import printable
from toolplan.render.runs_view import SHORT


class ValuesQuestion:
    """Asks a person at the terminal about calls that wait, step by step."""

    def __init__(self, display: Display, line: Callable[[], Awaitable[str]]) -> None:
        """Read what is typed with `line`."""
        self._display = display
        self._line = line

    async def __call__(self, effects: tuple[Effect, ...]) -> dict[str, Answer]:
        """Return what the person decides about each step."""
        self._display.pause()
        answers: dict[str, Answer] = {}
        for step, calls in by_step(effects):
            view = EffectsView(calls)
            await asyncio.to_thread(show_long, err(), view)
            err().print(view)
            discard_input()
            what = "this call" if len(calls) == 1 else f"these {len(calls)} calls"
            words = f"Make {what}? y, or n and why; Enter leaves it for later: "
            err().print(words, end="", markup=False)
            answers[step] = _answer(await self._line())
        self._display.resume()
        return answers


def _answer(said: str) -> Answer:
    word, _, reason = said.strip().partition(" ")
    if word.lower() in ("y", "yes") and not reason:
        return True
    if word.lower().rstrip(",.:") in ("n", "no"):
        return Denied(reason.strip())
    return None


def print_waiting(run: Run) -> None:
    """Print the calls that wait for a person, and how to decide."""
    effects = effects_of(run.waiting)
    if not effects:
        return
    err().print(EffectsView(effects))
    short = run.run[:SHORT]
    for step, calls in by_step(effects):
        name = printable(step)
        note(f"  make it:   toolplan resume {short} --allow {name}")
        note(f"  refuse it: toolplan resume {short} --deny {name} --reason WHY")
        if len(calls) > 1:
            left = f"--allow {name} --leave-out {name}:{calls[0].item}"
            note(f"  leave one out, which is another plan: toolplan resume {short} {left}")
