"""The runs that this server works on: each continues to its end, even if no client watches it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Final

from toolplan.base.errors import ToolplanError
from toolplan.events import (
    ApprovalStaged,
    Event,
    Run,
    RunApproved,
    RunStarted,
    RunWaiting,
    StepProgressed,
)
from toolplan.policy.approval import Approval, decided_by
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan_studio._errors import Refused

MOST_RUNS: Final = 16
"""Maximum number of runs at the same time."""
_MOST_FAULTS: Final = 200


class WaitsForPerson(Exception):
    """No person has approved the plan yet: its run waits."""


async def wait_for_person(_: ExecutionPlan) -> Approval | None:
    """Approve nothing: the run stays in the journal as waiting."""
    raise WaitsForPerson


class ActiveRun:
    """A run in a task of this server.

    Attributes:
        stored: set when the run is in the journal, or over.
        task: ends with the run.
    """

    def __init__(self) -> None:
        self.stored = asyncio.Event()
        self.task: asyncio.Task[Run] | None = None
        self._progress: dict[str, tuple[int, StepProgressed]] = {}
        self._count = 0

    def add(self, event: Event) -> None:
        """Add the next event of the run."""
        if isinstance(event, StepProgressed):
            self._count += 1
            self._progress[event.step] = (self._count, event)
        if not isinstance(event, RunStarted | RunWaiting | RunApproved | ApprovalStaged):
            self.stored.set()  # nothing else happens before that

    def progress_since(self, seen: int) -> tuple[list[Event], int]:
        """Return the last progress of each step that came after `seen`, and the new `seen`."""
        news: list[Event] = [event for count, event in self._progress.values() if count > seen]
        return news, self._count


class ActiveRuns:
    """The active runs by name, and why others ended without a word in the journal."""

    def __init__(self) -> None:
        self._active: dict[str, ActiveRun] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._faults: OrderedDict[str, str] = OrderedDict()

    def get(self, run: str) -> ActiveRun | None:
        """Return an active run, None if it is not active here."""
        return self._active.get(run)

    def fault(self, run: str) -> str | None:
        """Return why this server does not work on `run` any more, if that was an error."""
        return self._faults.get(run)

    def lock(self, run: str) -> asyncio.Lock:
        """Return the lock under which decisions about `run` are made."""
        return self._locks.setdefault(run, asyncio.Lock())

    async def begin(
        self, run: str, start: Callable[..., Coroutine[object, object, Run]], user: str
    ) -> None:
        """Begin to work on `run` for `user`; return when the journal has it, or raise why not."""
        if len(self._active) >= MOST_RUNS:
            raise Refused(
                "busy",
                f"There are {MOST_RUNS} active runs, which is the maximum.",
                "Wait until one of them is over.",
            )
        active = self._active[run] = ActiveRun()
        self._faults.pop(run, None)

        async def work() -> Run:
            with decided_by(user):
                return await start(on_event=active.add)

        # a task of its own, because the run outlives the request
        task = active.task = asyncio.get_running_loop().create_task(work())
        task.add_done_callback(lambda ended: self._over(run, active, ended))
        await active.stored.wait()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is not None and not isinstance(error, WaitsForPerson):
                raise error

    async def wait(self, run: str) -> None:
        """Return when the task of `run` has ended."""
        active = self._active.get(run)
        if active is not None and active.task is not None:
            await asyncio.wait({active.task})

    async def cancel(self, *runs: str) -> None:
        """Cancel active runs, and return when they have ended; they can be resumed."""
        active = [self._active[run] for run in runs if run in self._active]
        tasks = {each.task for each in active if each.task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def stop(self) -> None:
        """Cancel all active runs, and return when they have ended."""
        await self.cancel(*self._active)

    def _over(self, run: str, active: ActiveRun, task: asyncio.Task[Run]) -> None:
        active.stored.set()
        if self._active.get(run) is active:
            del self._active[run]
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, WaitsForPerson):
            return
        known = isinstance(error, ToolplanError)
        self._faults[run] = str(error) if known else f"The run broke off: {type(error).__name__}."
        while len(self._faults) > _MOST_FAULTS:
            self._faults.popitem(last=False)
