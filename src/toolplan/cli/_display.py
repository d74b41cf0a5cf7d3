"""Displays during a command: a plan and its run, and a line while a model writes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from toolplan.cli import terminal
from toolplan.cli.terminal import err, make_way, out
from toolplan.events import Event
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import ModelCall, UsageTracker
from toolplan.schema.tool import Tool
from toolplan.show.plan_tree import PlanTree, effect_marks
from toolplan.show.printable import cut, printable
from toolplan.show.run_progress import RunProgress


class Display:
    """Shows a plan, then the progress of its run; nothing where only JSON is wanted."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._out = out()  # as it is now: while tools run, standard output is redirected
        self._progress: RunProgress | None = None

    def show_plan(self, plan: ExecutionPlan, tools: Mapping[str, Tool]) -> None:
        """Show the plan that is about to run with `tools`."""
        self.close()
        if not self._silent:
            make_way()
            self._out.print(PlanTree(plan.plan, effect_marks(plan.plan, tools)))
            self._out.print()

    def open(self, plan: ExecutionPlan, before: Sequence[Event] = ()) -> None:
        """Begin to show the run of `plan`; `before` are its events so far."""
        if not self._silent:
            self._progress = RunProgress(plan.plan, err(), clock=time.time, before=before)
            self._progress.__enter__()

    def show_event(self, event: Event) -> None:
        """Show one event."""
        if self._progress is not None:
            self._progress(event)

    def pause(self) -> None:
        """Leave the terminal to a question."""
        if self._progress is not None:
            self._progress.__exit__(None, None, None)

    def resume(self) -> None:
        """Show the run again."""
        if self._progress is not None:
            self._progress.__enter__()

    @property
    def is_live(self) -> bool:
        """Whether the progress of a run is drawn."""
        return self._progress is not None

    def close(self) -> None:
        """End the live view, if there is one."""
        self.pause()
        self._progress = None


_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES: Final = "|/-\\"
_EVERY_S: Final = 0.1
_QUIET_S: Final = 0.3
_FIRST_S: Final = 0.5
_CHARACTERS_A_TOKEN: Final = 4
_CLEAR: Final = "\r\x1b[K"


def thinking_text(call: ModelCall, now: float) -> str:
    """Describe a call to a model in progress, at `now` seconds on its clock."""
    text = f"{printable(call.model)} thinks: {now - call.began:.0f} s"
    if call.characters:
        text += f", about {max(1, call.characters // _CHARACTERS_A_TOKEN):,} tokens"
    return text


class Thinking:
    """Draws the line of the present call, and clears it when there is none.

    `is_hidden` says that something else is drawn at the moment.
    """

    def __init__(
        self,
        tracker: UsageTracker,
        file: TextIO,
        is_hidden: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tracker = tracker
        self._file = file
        self._is_hidden = is_hidden
        self._clock = clock
        self._lock = threading.Lock()
        self._quiet_until = 0.0
        self._is_drawn = False
        self._frame = 0

    def draw(self) -> None:
        """Draw the line as it is now, or clear it."""
        with self._lock:
            call, now = self._tracker.call, self._clock()
            if call is None or self._is_hidden() or now - call.began < _FIRST_S:
                self._clear()
            elif now >= self._quiet_until:
                is_plain = not (self._file.encoding or "").lower().startswith("utf")
                frames = _PLAIN_FRAMES if is_plain else _FRAMES
                self._frame += 1
                text = f"{frames[self._frame % len(frames)]} {thinking_text(call, now)}"
                self._write(_CLEAR + cut(text, terminal.err().width - 1))
                self._is_drawn = True

    def make_way(self) -> None:
        """Clear the line, and leave the terminal to other output."""
        with self._lock:
            self._quiet_until = self._clock() + _QUIET_S
            self._clear()

    def _clear(self) -> None:
        if self._is_drawn:
            self._write(_CLEAR)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


@contextmanager
def thinking_shown(
    tracker: UsageTracker, *, silent: bool, is_hidden: Callable[[], bool] = lambda: False
) -> Generator[None]:
    """Show the calls to models meanwhile, on a terminal and where more than JSON is wanted."""
    if silent or not terminal.err().is_terminal or terminal.err().is_dumb_terminal:
        yield
        return
    line, over = Thinking(tracker, sys.stderr, is_hidden), threading.Event()

    def draw() -> None:
        while not over.wait(_EVERY_S):
            line.draw()

    thread = threading.Thread(target=draw, name="toolplan-thinking", daemon=True)
    with terminal.making_way(line.make_way):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            line.make_way()
