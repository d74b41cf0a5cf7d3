"""A draft while a planner still writes it: its steps are shown, and may start."""

from __future__ import annotations

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from msgspec import Struct

from toolplan import compiler, engines
from toolplan.compiler import Compiled
from toolplan.dialects import DIALECTS
from toolplan.events import Run
from toolplan.plan import Step
from toolplan.planners import Draft, DraftText

OnStep: TypeAlias = Callable[[Step], None]


class StreamedDraft(Struct, frozen=True):
    """A draft that was compiled while it was written, and its run where it was started."""

    compiled: Compiled
    run: Run | None


class ReportedSteps:
    """The steps of a stream; `on_step` gets each of them, `on_plan` the plan at their end.

    `note` puts notes into the compiled plan.
    """

    def __init__(
        self,
        stream: compiler.CompileStream,
        note: Callable[[Compiled], Compiled],
        on_step: OnStep | None,
        on_plan: Callable[[Compiled], None] | None,
    ) -> None:
        self._stream = stream
        self._note = note
        self._compiled: Compiled | None = None
        self._on_step = on_step
        self._on_plan = on_plan

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete."""
        async with aclosing(self._stream) as steps:
            async for step in steps:
                if self._on_step is not None:
                    self._on_step(step)
                yield step
        if self._on_plan is not None and self.compiled.plan is not None:
            self._on_plan(self.compiled)

    @property
    def compiled(self) -> Compiled:
        """The compiled plan, at the end of the stream."""
        if self._compiled is None:
            self._compiled = self._note(self._stream.compiled)
        return self._compiled


class StreamingDraft:
    """Compiles each draft while it is written, and with `eager` starts the steps that only read.

    A draft that starts again replaces the one before, and the steps started by that one are
    cancelled.
    """

    def __init__(
        self,
        compile_: Callable[[AsyncIterator[str], str], compiler.CompileStream],
        note: Callable[[Compiled, str], Compiled],
        on_step: OnStep | None,
        on_plan: Callable[[Compiled], None] | None,
        run: Callable[[ReportedSteps], Awaitable[Run]] | None,
    ) -> None:
        """Prepare for the drafts of one question.

        Args:
            compile_: reads the texts of a draft in a dialect.
            note: puts notes into a plan compiled from a draft of the named planner.
            on_step: called with each step.
            on_plan: called with a plan that runs already, when it is whole.
            run: runs the steps while they come; None starts nothing.
        """
        self._compile = compile_
        self._note = note
        self._on_step = on_step
        self._on_plan = on_plan
        self._run = run
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
        stream = self._compile(_drained(texts), dialect)
        on_plan = self._on_plan if self._run is not None else None
        reported = ReportedSteps(
            stream, lambda compiled: self._note(compiled, planner), self._on_step, on_plan
        )
        run: Run | None = None
        if self._run is not None:
            run = await self._run(reported)
        else:
            async for _ in reported:
                pass
        return StreamedDraft(reported.compiled, run)


async def _drained(texts: asyncio.Queue[str | None]) -> AsyncIterator[str]:
    while (text := await texts.get()) is not None:
        yield text
