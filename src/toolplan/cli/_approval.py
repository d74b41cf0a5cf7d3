"""Approval of a plan with effects on the terminal, and what is printed where a run stops."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Generator
from contextlib import closing, contextmanager, redirect_stdout

from toolplan.app._approve import Approve
from toolplan.app.app import App
from toolplan.approval import Approval, ApprovalRequired, EffectStep, approve, effect_steps
from toolplan.cli._display import Display
from toolplan.cli._outcome import interrupted
from toolplan.cli._terminal import CommandError, err, note
from toolplan.execution_plan import ExecutionPlan
from toolplan.render.approval_view import ApprovalView, approval_json
from toolplan.storage.journal import JournalError


class RunGuard:
    """The run of a command: its plan, its name, and who approves it.

    `yes` approves any plan, `digest` the one that has it; else a person is asked on the terminal,
    where `may_ask` says that more than JSON is wanted.
    """

    def __init__(
        self, display: Display, *, yes: bool, digest: str | None, may_ask: bool, run: str = ""
    ) -> None:
        self.display = display
        self.plan: ExecutionPlan | None = None
        self.run = run
        self.app: App | None = None
        self._digest = digest
        self._given = yes or digest is not None
        self._may_ask = may_ask

    def new_id(self) -> str:
        """Return a name for a run."""
        self.run = uuid.uuid4().hex
        return self.run

    @property
    def approve(self) -> Approve | None:
        """Who approves, as `App` takes it: a digest, the person at the terminal, or None."""
        return self._ask if self._can_ask() else self._digest

    @contextmanager
    def interruptions_reported(self) -> Generator[None]:
        """Report how to continue where the run is not approved, or is interrupted.

        Output of tools goes to standard error meanwhile.

        Raises:
            CommandError: the plan was not approved.
            KeyboardInterrupt: the run was interrupted.
        """
        try:
            # the view closes first: it restores the output that it found when it began
            with redirect_stdout(sys.stderr), closing(self.display):
                yield
        except ApprovalRequired as required:
            raise self._missing(required) from None
        except KeyboardInterrupt:
            self.display.close()
            note(interrupted(self.run) if self._is_kept() else "Interrupted; no run was kept.")
            raise

    def report_more(self, plan: ExecutionPlan) -> None:
        """Report that a further plan, after a run with effects, was not approved."""
        if self._may_ask:
            err().print(ApprovalView(self._steps(plan), plan.digest))
        note(
            "A further plan was not approved; the run below stays as it is. `toolplan runs` lists"
            f" it; --approve {plan.digest} approves that plan."
        )

    def _is_kept(self) -> bool:
        """Return whether the journal has the run: not while its plan is still written."""
        journal = None if self.app is None else self.app.journal
        try:
            return journal is not None and bool(self.run) and bool(journal.find(self.run))
        except JournalError:
            return False

    def _steps(self, plan: ExecutionPlan | None) -> tuple[EffectStep, ...]:
        return () if plan is None or self.app is None else effect_steps(plan, self.app.tools)

    def _missing(self, required: ApprovalRequired) -> CommandError:
        self.display.close()
        if self._can_ask():
            return CommandError(
                "approval-required", "The plan was not approved; nothing was run.", None
            )
        steps = self._steps(self.plan)
        if self.plan is not None and self._may_ask:
            err().print(ApprovalView(steps, self.plan.digest))
        other = f", not {self._digest}" if self._digest is not None else ""
        return CommandError(
            "approval-required",
            f"The plan changes something and was not run. Its digest is {required.digest}{other}.",
            "Read the plan. --yes approves any plan; --approve DIGEST approves this plan and no"
            " other.",
            details=None if self.plan is None else approval_json(steps, required.digest),
        )

    def _can_ask(self) -> bool:
        return not self._given and self._may_ask and sys.stdin.isatty() and sys.stderr.isatty()

    async def _ask(self, plan: ExecutionPlan) -> Approval | None:
        self.display.pause()
        console = err()
        console.print(ApprovalView(self._steps(plan), plan.digest))
        console.print("Run it? [y/N] ", end="")
        said = await _line()
        self.display.resume()
        return approve(plan) if said.strip().lower() in ("y", "yes") else None


async def _line() -> str:
    """Read a line from the terminal, so that an interrupt ends the wait."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    number = sys.stdin.fileno()
    try:
        loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
    except NotImplementedError:  # some loops watch sockets only
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        await ready
    finally:
        loop.remove_reader(number)
    return os.read(number, 1_000).decode("utf-8", "replace")
