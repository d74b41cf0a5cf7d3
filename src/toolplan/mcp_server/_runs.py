"""Runs for clients: each goes on to its end, whoever stops watching it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

from toolplan.app.resume import plan_of
from toolplan.approval import Approval, ApprovalRequired, ApprovalUsed, Approver
from toolplan.engines import CannotRun
from toolplan.engines import resume as go_on
from toolplan.engines import run as run_plan
from toolplan.events import Run, RunState
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._options import Options
from toolplan.mcp_server._progress import Progress
from toolplan.mcp_server._refused import CallRefused, of_journal
from toolplan.mcp_server._told import approval_help, effects_report
from toolplan.render.runs_view import SHORT
from toolplan.storage.journal import Journal, JournalError, RunEntry
from toolplan.tools import Toolbox

logger = logging.getLogger(__name__)

MOST_RUNS: Final = 16
"""How many runs may be under way at once."""

_MOST_REMEMBERED: Final = 1_000

T = TypeVar("T")


@dataclass(frozen=True)
class RunGuard:
    """A run that is under way, or was; `task` ends with it."""

    run: str
    plan: ExecutionPlan
    progress: Progress
    task: asyncio.Task[Run]


class _LeftToAPerson(Exception):
    """Nobody is here who could approve: the run waits until a person does, elsewhere."""


class Runs:
    """The runs of a journal, and those that are under way here.

    Leaving it waits for these; `stop` ends them before, and each can be resumed.
    """

    def __init__(self, toolbox: Toolbox, *, journal: Journal, options: Options) -> None:
        """Hold what plans are run with."""
        self._toolbox = toolbox
        self._journal = journal
        self._options = options
        self._going: dict[str, RunGuard] = {}
        self._requests: OrderedDict[object, RunGuard] = OrderedDict()
        self._waiting: OrderedDict[str, str] = OrderedDict()  # digest to run

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.stop()
        try:
            await self._settled()
        except asyncio.CancelledError:
            self.stop()
            await self._settled()
            raise

    def stop(self) -> None:
        """Cancel the runs that are under way."""
        for going in self._going.values():
            going.task.cancel()

    async def start(
        self, plan: ExecutionPlan, *, approval: Approver | None = None, request: object = None
    ) -> RunGuard:
        """Start to run `plan`; `approval` is called with it where it has effects.

        `request` names what may cancel it.

        Raises:
            CallRefused: the plan waits for a person already, or too much is under way.
        """
        approver = approval or self._options.approval
        if plan.effects and approver is None:
            await self._check_waiting(plan)
        self._make_room()
        name = self._options.new_id()
        progress = Progress(plan.plan)
        running = run_plan(
            plan,
            self._toolbox,
            journal=self._journal,
            approval=approver or _wait_for_a_person,
            limits=self._options.limits,
            on_event=progress.add,
            run_id=name,
            clock=self._options.clock,
            **self._options.run_options.arguments(),
        )
        return self._begun(name, plan, progress, running, request)

    async def resume(self, beginning: str, *, request: object = None) -> RunGuard:
        """Go on with the run whose name begins so; one that goes on here is just watched.

        `request` names what may cancel it, if it begins it.

        Raises:
            CallRefused: there is no such run, it does not pass its check with these tools, it uses
                what is not allowed here, or too much is under way.
        """
        name = await self._read(lambda: self._journal.find(beginning))
        if name in self._going:
            return self._going[name]
        plan = await self._plan_of(name)
        self._check_allowed(plan)
        progress = Progress(plan.plan)
        progress.catch_up(await self._read(lambda: self._journal.events(name)))
        if name in self._going:  # somebody else was faster
            return self._going[name]
        self._make_room()
        running = go_on(
            plan,
            self._toolbox,
            name,
            journal=self._journal,
            approval=self._options.approval or _wait_for_a_person,
            limits=self._options.limits,
            on_event=progress.add,
            clock=self._options.clock,
            **self._options.run_options.arguments(),
        )
        return self._begun(name, plan, progress, running, request)

    async def ended(self, going: RunGuard) -> Run:
        """Wait until a run is over, or waits for a person; who stops waiting does not stop it.

        Raises:
            CallRefused: it is not approved, or could not be run.
        """
        await asyncio.wait({going.task})
        if going.task.cancelled():
            return await self._read(lambda: self._journal.load(going.run))
        try:
            return going.task.result()
        except _LeftToAPerson:
            raise self._approval_required(going.plan, going.run) from None
        except ApprovalRequired:
            raise CallRefused(
                "approval-required",
                "The plan was not approved; nothing was run.",
                "A person may approve it when it is run again.",
                {"digest": going.plan.digest, "run": going.run},
            ) from None
        except ApprovalUsed as error:
            raise CallRefused("approval-used", str(error)) from None
        except CannotRun as error:
            raise CallRefused(
                "cannot-run", str(error), f"`runs` with run {going.run[:SHORT]!r} tells of it."
            ) from None
        except JournalError as error:
            raise of_journal(error) from None

    async def standing(self, beginning: str) -> tuple[Run, ExecutionPlan | None]:
        """Return the run whose name begins so, and its plan, None where that passes no check now.

        Raises:
            CallRefused: there is no such run, or the journal cannot be read.
        """
        name = await self._read(lambda: self._journal.find(beginning))
        run = await self._read(lambda: self._journal.load(name))
        try:
            return run, await self._plan_of(name)
        except CallRefused:
            return run, None

    async def latest(self, limit: int) -> list[RunEntry]:
        """Return the latest runs of the journal, the newest first.

        Raises:
            CallRefused: the journal cannot be read.
        """
        return await self._read(lambda: self._journal.runs(limit))

    def answered(self, request: object) -> None:
        """Note that `request` is answered: from now on it cancels nothing, if its run goes on."""
        self._requests.pop(request, None)

    def cancel(self, request: object) -> None:
        """Cancel the run that `request` began, if it is under way; it can be resumed."""
        going = self._requests.pop(request, None)
        if going is not None:
            going.task.cancel()

    def _begun(
        self,
        name: str,
        plan: ExecutionPlan,
        progress: Progress,
        running: Coroutine[object, object, Run],
        request: object,
    ) -> RunGuard:
        # a task of its own: what becomes of the client's request is nothing to the run
        task = asyncio.get_running_loop().create_task(self._to_its_end(plan, running))
        going = self._going[name] = RunGuard(name, plan, progress, task)
        self._requests[request] = going
        while len(self._requests) > _MOST_REMEMBERED:
            self._requests.popitem(last=False)

        def over(task: asyncio.Task[Run]) -> None:
            del self._going[name]
            progress.end()
            # looked at here, as whoever wanted the run may be gone
            if not task.cancelled() and isinstance(task.exception(), _LeftToAPerson):
                self._remember_waiting(going)

        task.add_done_callback(over)
        return going

    async def _to_its_end(
        self, plan: ExecutionPlan, running: Coroutine[object, object, Run]
    ) -> Run:
        run = await running
        if self._options.on_ended is not None:
            try:
                await asyncio.to_thread(self._options.on_ended, plan, run)
            except Exception:  # whoever looks on must not take the run with it
                logger.exception("What is done after a run failed.")
        return run

    def _make_room(self) -> None:
        if len(self._going) >= MOST_RUNS:
            raise CallRefused(
                "busy",
                f"{MOST_RUNS} runs are under way, and no more are begun.",
                "Wait until one of them is over; `runs` lists them.",
            )

    def _check_allowed(self, plan: ExecutionPlan) -> None:
        allow = self._options.policy.allow
        if allow is None:
            return
        for step in plan.plan.steps:
            if step.tool not in allow:
                raise CallRefused(
                    "tool-not-allowed",
                    f"The run uses the tool {step.tool!r}, which is not allowed here.",
                    "Go on with it where it was started: `toolplan resume`.",
                )

    async def _check_waiting(self, plan: ExecutionPlan) -> None:
        """Refuse a plan of which a run waits already: asking again makes no further run."""
        name = self._waiting.get(plan.digest)
        if name is None:
            return
        run = await self._read(lambda: self._journal.load(name))
        if run.status is RunState.WAITING:
            raise self._approval_required(plan, name)
        del self._waiting[plan.digest]

    def _remember_waiting(self, going: RunGuard) -> None:
        self._waiting[going.plan.digest] = going.run
        while len(self._waiting) > _MOST_REMEMBERED:
            self._waiting.popitem(last=False)

    def _approval_required(self, plan: ExecutionPlan, run: str) -> CallRefused:
        return CallRefused(
            "approval-required",
            "The plan changes something and was not run: it waits for the approval of a person.",
            approval_help(run[:SHORT], plan.digest),
            {"run": run, "digest": plan.digest, "effects": effects_report(plan, self._toolbox)},
        )

    async def _plan_of(self, name: str) -> ExecutionPlan:
        def read() -> ExecutionPlan:
            return plan_of(name, self._toolbox, journal=self._journal, limits=self._options.limits)

        try:
            return await self._read(read)
        except CannotRun as error:
            raise CallRefused(
                "cannot-run",
                str(error),
                "Go on with it where it was started, with its own tools: `toolplan resume`.",
            ) from None

    async def _read(self, read: Callable[[], T]) -> T:
        """Return what `read` gives, in a thread: a journal blocks for as long as the disk takes."""
        try:
            return await asyncio.to_thread(read)
        except JournalError as error:
            raise of_journal(error) from None

    async def _settled(self) -> None:
        while self._going:
            await asyncio.wait({going.task for going in self._going.values()})


async def _wait_for_a_person(plan: ExecutionPlan) -> Approval | None:
    raise _LeftToAPerson(plan.digest)
