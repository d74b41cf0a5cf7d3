"""What an app keeps: runs in a journal, turns in a memory, learned schemas, active tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolplan.app.home import LEARNED, MEMORY
from toolplan.app.learned import learn_from
from toolplan.app.results import AskResult
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.events import Run
from toolplan.plan.path import Json
from toolplan.planners import conversation as conversations
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.storage import memory as memories
from toolplan.storage.journal import Store, open_journal


def app_closed() -> ToolplanError:
    """Return the error for the use of an app that is closed, or is being closed."""
    return ToolplanError("app-closed", "The app is closed.", "Open another one.")


class ActiveTasks:
    """The tasks that answer questions or run plans; none is added after `close`."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any] | None] = []
        self._closed = False

    @contextmanager
    def task(self) -> Generator[None]:
        """Add the current task while the block runs."""
        if self._closed:
            raise app_closed()
        task = asyncio.current_task()
        self._tasks.append(task)
        try:
            yield
        finally:
            self._tasks.remove(task)

    async def close(self, *, cancel: bool) -> None:
        """Add no more tasks, and wait for those of this event loop.

        With `cancel` they are cancelled first: the journal keeps their runs as cancelled.
        """
        self._closed = True
        loop, own = asyncio.get_running_loop(), asyncio.current_task()
        others = {each for each in self._tasks if each is not own and each is not None}
        others = {each for each in others if each.get_loop() is loop}
        for task in others if cancel else ():
            task.cancel()
        if others:
            await asyncio.wait(others)


class Kept:
    """The files of an app. Closing it closes what it has opened, and `resources`."""

    def __init__(
        self,
        journal: Store | Path | str | None,
        memory: memories.Memory | None,
        data: Path | None,
        note: Callable[[str], None],
        resources: ExitStack | None,
    ) -> None:
        self._journal, self._memory, self._data, self._note = journal, memory, data, note
        self._resources = ExitStack() if resources is None else resources
        self._opening = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        """Close all of it. It may be called again."""
        self.is_closed = True
        self._resources.close()

    def check_open(self) -> None:
        """Raise `app-closed` where the app is closed."""
        if self.is_closed:
            raise app_closed()

    @property
    def journal(self) -> Store | None:
        """The journal; None where there is none, or no run was kept in it yet."""
        self.check_open()
        if isinstance(self._journal, Path) and not self._journal.exists():
            return None
        return None if self._journal is None else self.needed_journal()

    async def journal_so_far(self) -> Store | None:
        """Return `journal`; a file is opened beside the event loop."""
        if isinstance(self._journal, Path | str):
            return await in_thread(lambda: self.journal)
        return self.journal

    async def journal_to_run(self) -> Store | None:
        """Return the journal, with its file; None where runs are not kept."""
        self.check_open()
        if isinstance(self._journal, Path | str):
            return await in_thread(self.needed_journal)
        return self._journal

    def needed_journal(self) -> Store:
        """Return the journal; make its file where there is none."""
        self.check_open()
        with self._opening:  # two questions at once open one journal
            if isinstance(self._journal, Path | str):
                opened = open_journal(self._journal)
                self._journal = self._resources.enter_context(closing(opened))
                for sentence in opened.notes:
                    self._note(sentence)
        if self._journal is None:
            raise ToolplanError("usage", "This app has no journal.", "Give it one: journal=PATH.")
        return self._journal

    async def recall(self, conversation: str, text: str) -> Json:
        """Return what was said in a conversation before; None where memory cannot be used."""
        try:
            return await in_thread(self._memories().recall, conversation, text)
        except memories.MemoryFault as fault:  # a fault of it must not cost the answer
            self._report_fault(fault)
            return None

    async def remember(self, conversation: str, asked: AskResult, now: float) -> None:
        """Keep a turn of a conversation, so that the next question may refer to it."""
        timestamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        # not the answer: it is made of what tools returned, and a model reads the context
        plan = None if asked.plan is None else asked.plan.plan
        said, made = asked.question, asked.proposal
        episode = conversations.episode_of(said, made, timestamp=timestamp, plan=plan)
        try:
            await in_thread(self._memories().remember, conversation, episode)
        except memories.MemoryFault as fault:
            self._report_fault(fault)

    def learn(self, plan: ExecutionPlan, ended: Run, tools: Toolbox) -> None:
        """Learn output schemas from a run, for tools that declare none."""
        if self._data is not None:
            learn_from(plan.plan, ended, tools, self._data / LEARNED, self._note)

    def _memories(self) -> memories.Memory:
        if self._memory is None:
            if self._data is None:
                said = "This app has no memory for conversations."
                raise ToolplanError("usage", said, "Give it one: memory=…")
            opened = memories.SqliteMemory(self._data / MEMORY)
            self._memory = self._resources.enter_context(closing(opened))
        return self._memory

    def _report_fault(self, fault: memories.MemoryFault) -> None:
        self._note(f"The earlier conversation is not known: {fault.with_help}")
