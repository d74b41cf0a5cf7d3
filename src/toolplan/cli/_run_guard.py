"""A run on its way: which plan it is of, what its name is, and what is told where it stops."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout

from toolplan.approval import ApprovalRequired
from toolplan.cli._approval import ApprovalPrompt
from toolplan.cli._outcome import interrupted
from toolplan.cli._terminal import note
from toolplan.execution_plan import ExecutionPlan


class RunGuard:
    """The run that a command is about: its plan, and its name once it has one."""

    def __init__(self, plan: ExecutionPlan | None = None, run: str = "") -> None:
        self.plan = plan
        self.run = run

    @contextmanager
    def told(self, leave: ApprovalPrompt) -> Generator[None]:
        """Tell how to go on where the run is not approved, or is interrupted.

        What a tool prints meanwhile is no result of ours, and goes to standard error.

        Raises:
            CommandError: leave to run the plan was not given.
            KeyboardInterrupt: it was interrupted.
        """
        try:
            if self.plan is not None:
                leave.check(self.plan)
            with redirect_stdout(sys.stderr):
                yield
        except ApprovalRequired as required:
            raise leave.missing(required, self.plan) from None
        except KeyboardInterrupt:
            leave.display.close()
            note(interrupted(self.run) if self.is_kept() else "Interrupted; no run was kept.")
            raise

    def is_kept(self) -> bool:
        """Whether there is a run to go on with."""
        return bool(self.run)
