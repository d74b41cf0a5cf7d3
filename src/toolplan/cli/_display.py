"""A plan and its run, as commands show them during the run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from toolplan.cli.terminal import err, make_way, out
from toolplan.events import Event
from toolplan.execution_plan import ExecutionPlan
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.run_progress import RunProgress
from toolplan.tools import Tool


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
            self._out.print(plan_tree(plan.plan, marks=effect_marks(plan.plan, tools)))
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
