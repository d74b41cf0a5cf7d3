"""A draft while a planner still writes it: its steps are shown, and may start."""

from __future__ import annotations

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple

from msgspec import Struct

from toolplan import compiler
from toolplan import engine as engines
from toolplan.compiler import Compiled
from toolplan.dialects import DIALECTS
from toolplan.events import Run
from toolplan.plan.model import Step
from toolplan.planners import Draft, DraftText


class StreamedDraft(NamedTuple):
    """A draft that was compiled while it was written, and its run where it was started."""

    compiled: Compiled
    run: Run | None


class ReportedSteps(Struct):
    """The steps of a stream; `on_step` gets each of them, `on_plan` the plan at their end.

    `note` puts notes into the compiled plan.
    """

    stream: compiler.CompileStream
    note: Callable[[Compiled], Compiled]
    on_step: Callable[[Step], None] | None
    on_plan: Callable[[Compiled], None] | None
    noted: Compiled | None = None

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete."""
        async with aclosing(self.stream) as steps:
            async for step in steps:
                if self.on_step is not None:
                    self.on_step(step)
                yield step
        if self.on_plan is not None and self.compiled.plan is not None:
            self.on_plan(self.compiled)

    @property
    def compiled(self) -> Compiled:
        """The compiled plan, at the end of the stream."""
        if self.noted is None:
            self.noted = self.note(self.stream.compiled)
        return self.noted


class StreamingDraft:
    """Compiles each draft while it is written, and may start its steps that only read.

    A draft that starts again replaces the one before, and the steps started by that one are
    cancelled.
    """

    def __init__(
        self,
        compile_: Callable[[AsyncIterator[str], str], compiler.CompileStream],
        note: Callable[[Compiled, str], Compiled],
        on_step: Callable[[Step], None] | None,
        on_plan: Callable[[Compiled], None] | None,
        run: Callable[[ReportedSteps], Awaitable[Run]] | None,
    ) -> None:
        """Prepare for the drafts of one question.

        `compile_` reads the texts of a draft in a dialect, and `note` puts notes into the plan of
        the named planner. `run` runs the steps while they come, and `on_plan` gets their plan when
        it is whole; without `run` nothing starts.
        """
        self._compile, self._note, self._run = compile_, note, run
        self._on_step, self._on_plan = on_step, None if run is None else on_plan
        self._texts: asyncio.Queue[str | None] | None = None
        self._written: list[str] = []
        self._task: Task[StreamedDraft] | None = None
        self._left: list[Task[StreamedDraft]] = []

    def add(self, piece: DraftText) -> None:
        """Take the next piece of the draft."""
        if piece.starts:
            self._leave()
            self._written.clear()
            self._texts = asyncio.Queue()
            if piece.dialect in DIALECTS:
                follow = self._follow(self._texts, piece.dialect, piece.planner)
                self._task = asyncio.create_task(follow)
        self._written.append(piece.text)
        if self._texts is not None:
            self._texts.put_nowait(piece.text)

    async def ended(self, draft: Draft) -> StreamedDraft | None:
        """Return the result for `draft`; None if another draft was streamed, or it cannot be run.

        Steps with effects start in here at the earliest: until the planner has proposed the very
        draft that was followed, it is not known to be one.

        Raises:
            Exception: as `toolplan.run_stream` does, except `StreamRefused`.
        """
        task, texts = self._task, self._texts
        if task is None or texts is None or draft.text not in "".join(self._written):
            return None
        self._task = self._texts = None
        texts.put_nowait(None)
        try:
            return await task
        except engines.StreamRefused:
            return None
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise

    async def close(self) -> None:
        """Cancel the run if it has not ended."""
        self._leave()
        await asyncio.gather(*self._left, return_exceptions=True)
        self._left.clear()

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._left.append(self._task)
        self._task = self._texts = None

    async def _follow(
        self, texts: asyncio.Queue[str | None], dialect: str, planner: str
    ) -> StreamedDraft:
        async def written() -> AsyncIterator[str]:
            while (text := await texts.get()) is not None:
                yield text

        def note(compiled: Compiled) -> Compiled:
            return self._note(compiled, planner)

        stream = self._compile(written(), dialect)
        steps = ReportedSteps(stream, note, self._on_step, self._on_plan)
        if self._run is not None:
            run = await self._run(steps)
            return StreamedDraft(steps.compiled, run)
        async for _ in steps:
            pass
        return StreamedDraft(steps.compiled, None)
