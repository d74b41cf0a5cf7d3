"""Eager tasks: they start in the turn of the event loop in which they are made.

An ordinary task starts in the next turn, behind everything that is ready by then; a run would wait
for that on every edge of its critical path. Python 3.12 has `eager_start`. For 3.11 it is written
here, with what asyncio documents under "Extending" (`_enter_task` and `_leave_task`), and the flag
of a future that says that a task awaits it.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import sys
from asyncio import AbstractEventLoop, Task
from collections.abc import Coroutine, Generator
from contextvars import Context
from types import TracebackType
from typing import Any

if sys.version_info >= (3, 12):

    def eager_task(
        coroutine: Coroutine[Any, Any, None], loop: AbstractEventLoop, name: str, context: Context
    ) -> Task[None]:
        """Return a task of `coroutine`, whose first part has run."""
        return Task(coroutine, loop=loop, name=name, context=context, eager_start=True)

else:

    def eager_task(
        coroutine: Coroutine[Any, Any, None], loop: AbstractEventLoop, name: str, context: Context
    ) -> Task[None]:
        """Return a task of `coroutine`, whose first part has run."""
        ahead = _EagerCoroutine(coroutine)
        task = Task(ahead, loop=loop, name=name, context=context)
        ahead.start(task, loop, context)
        return task

    class _EagerCoroutine(Coroutine[Any, Any, None]):
        """A coroutine whose first part has run before its task asks for it.

        The task then gets the outcome of the first part: what it awaits, or how it ended.
        """

        __slots__ = ("_coroutine", "_ended", "_is_awaited", "_is_eager", "_waits_for")

        def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
            self._coroutine = coroutine
            self._is_eager = False
            self._is_awaited = False
            self._waits_for: object = None
            self._ended: BaseException | None = None

        def __getattr__(self, name: str) -> object:
            # its name, frame and state, for the repr and the stack of the task
            return getattr(self._coroutine, name)

        def start(self, task: Task[None], loop: AbstractEventLoop, context: Context) -> None:
            """Run the first part, with `task` as the current task."""
            outer = asyncio.current_task(loop)
            if outer is not None:
                asyncio._leave_task(loop, outer)
            asyncio._enter_task(loop, task)
            try:
                self._waits_for = context.run(self._coroutine.send, None)
            except BaseException as ended:  # the task gets it
                self._ended = ended
            finally:
                asyncio._leave_task(loop, task)
                if outer is not None:
                    asyncio._enter_task(loop, outer)
            if asyncio.isfuture(self._waits_for):
                # until the task asks, others may await the same future
                self._is_awaited = self._waits_for._asyncio_future_blocking
                self._waits_for._asyncio_future_blocking = False
            self._is_eager = True

        def send(self, value: None, /) -> object:
            if self._is_eager:
                if self._waits_for is not None or self._ended is not None:
                    return self._caught_up()
                self._is_eager = False  # it only waited for this turn
            return self._coroutine.send(value)

        def throw(
            self,
            error: type[BaseException] | BaseException,
            value: object = None,
            trace: TracebackType | None = None,
            /,
        ) -> object:
            # a task passes the error itself and nothing else
            if self._is_eager:
                waits_for = self._waits_for
                reason = error.args[0] if isinstance(error, BaseException) and error.args else None
                if self._ended is not None or (
                    asyncio.isfuture(waits_for) and waits_for.cancel(reason)
                ):
                    # like a task that is cancelled while it waits: it cancels what it awaits
                    return self._caught_up()
                self._is_eager, self._waits_for = False, None
            return self._coroutine.throw(error if isinstance(error, BaseException) else error())

        def close(self) -> None:
            self._coroutine.close()

        def __await__(self) -> Generator[Any, Any, None]:
            return self._coroutine.__await__()

        def _caught_up(self) -> object:
            """Return the outcome of the first part to the task."""
            waits_for, ended = self._waits_for, self._ended
            self._is_eager, self._waits_for, self._ended = False, None, None
            if ended is not None:
                raise ended
            if asyncio.isfuture(waits_for):
                waits_for._asyncio_future_blocking = self._is_awaited
            return waits_for
