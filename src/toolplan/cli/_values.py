"""Approval of calls with their values: the question on the terminal, and what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from toolplan.cli import _person
from toolplan.cli._display import Display
from toolplan.cli.terminal import discard_input, err, note, show_long
from toolplan.consent import Answer, Denied, Effect, LeaveOut, effects_of
from toolplan.events import Run
from toolplan.render import effects_view, runs_view
from toolplan.render.printable import printable


class ValuesQuestion:
    """Asks a person at the terminal about calls that wait, step by step."""

    def __init__(
        self, display: Display, line: Callable[[], Awaitable[str]], *, by_word: bool = False
    ) -> None:
        """Read what is typed with `line`; `by_word` asks for a word that is shown, not for `y`."""
        self._by_word = by_word
        self._display = display
        self._line = line

    async def __call__(self, effects: tuple[Effect, ...]) -> dict[str, Answer]:
        """Return what the person decides about each step."""
        self._display.pause()
        answers: dict[str, Answer] = {}
        for step, calls in effects_view.by_step(effects):
            view = effects_view.EffectsView(calls)
            await asyncio.to_thread(show_long, err(), view)
            err().print(view)
            answers[step] = await self._asked(calls)
        self._display.resume()
        return answers

    async def _asked(self, calls: Sequence[Effect]) -> Answer:
        """Ask about the calls of a step until there is an answer."""
        what = "this call"
        if len(calls) > 1:
            what = f"these {len(calls)} calls"
            left = calls[-1].item
            err().print(f"y except {left} leaves call {left} out, which is another plan.")
        while True:
            discard_input()
            yes = _person.new_word() if self._by_word else "y"
            err().prompt(f"Make {what}? {yes}, or n and why; Enter leaves it for later: ")
            said = (await self._line()).strip()
            first, _, rest = said.partition(" ")
            if self._by_word and (first == yes or first.lower() in ("y", "yes")):
                said = f"y {rest}".strip() if first == yes else first * 2  # not the word
            try:
                return _answer(said, calls)
            except ValueError:
                err().print(f"{printable(repr(said))} is not an answer.")


def _answer(said: str, calls: Sequence[Effect]) -> Answer:
    """Return what `said` decides about `calls`.

    Raises:
        ValueError: it is no answer.
    """
    word, _, reason = said.partition(" ")
    if not word:
        return None
    if word.lower() in ("y", "yes"):
        return True if not reason else _some(reason, {each.item for each in calls})
    if word.lower().rstrip(",.:") in ("n", "no"):
        return Denied(reason.strip())
    raise ValueError(said)


def _some(said: str, items: set[int | None]) -> Answer:
    """Return the answer of `except 0, 2`.

    Raises:
        ValueError: it cannot be read, or names a call that is not there.
    """
    word, *numbers = said.replace(",", " ").split()
    known = {str(each) for each in items if each is not None}
    if word.lower() != "except" or not numbers or not known.issuperset(numbers):
        raise ValueError(said)
    return LeaveOut(tuple(map(int, numbers)))


def print_waiting(run: Run) -> None:
    """Print the calls that wait for a person, and how to decide."""
    effects = effects_of(run.waiting)
    if not effects:
        return
    err().print(effects_view.EffectsView(effects))
    short = run.run[: runs_view.SHORT]
    for step, calls in effects_view.by_step(effects):
        name = printable(step)
        note(f"  make it:   toolplan resume {short} --allow {name}")
        note(f"  refuse it: toolplan resume {short} --deny {name} --reason WHY")
        if len(calls) > 1:
            left = f"--allow {name} --leave-out {name}:{calls[0].item}"
            note(f"  leave one out, which is another plan: toolplan resume {short} {left}")
