"""Tasks that begin in the turn of the loop in which they are made.

A new task begins in the next turn, behind all that is ready by then. A step whose last need has
just ended would wait for that once on every edge of the run's longest path. From Python 3.12 a task
can begin at once (`eager_start`). For 3.11 it is done here, with what asyncio has for tasks that
others write: `_enter_task` and `_leave_task` (documented under "Extending"), and the flag on a
future by which a coroutine and its task agree that the future is waited for.
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

    def begun(
        coroutine: Coroutine[Any, Any, None], loop: AbstractEventLoop, name: str, context: Context
    ) -> Task[None]:
        """Return a task of `coroutine` whose first part has run when this returns."""
        return Task(coroutine, loop=loop, name=name, context=context, eager_start=True)

else:

    def begun(
        coroutine: Coroutine[Any, Any, None], loop: AbstractEventLoop, name: str, context: Context
    ) -> Task[None]:
        """Return a task of `coroutine` whose first part has run when this returns."""
        ahead = _Ahead(coroutine)
        task = Task(ahead, loop=loop, name=name, context=context)
        ahead.begin(task, loop, context)
        return task

    class _Ahead(Coroutine[Any, Any, None]):
        """A coroutine that is further than its task knows, until that asks for the first time.

        What the first part came to, the task gets as if it had only come then: what the coroutine
        waits for, or how it ended.
        """

        __slots__ = ("_coroutine", "_ended", "_is_ahead", "_is_awaited", "_waits_for")

        def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
            self._coroutine = coroutine
            self._is_ahead = False
            self._is_awaited = False
            self._waits_for: object = None
            self._ended: BaseException | None = None

        def __getattr__(self, name: str) -> object:
            # its name, frame and state, by which tasks are shown and their stacks are found
            return getattr(self._coroutine, name)

        def begin(self, task: Task[None], loop: AbstractEventLoop, context: Context) -> None:
            """Run the first part, with `task` as the one that is current."""
            outer = asyncio.current_task(loop)
            if outer is not None:
                asyncio._leave_task(loop, outer)
            asyncio._enter_task(loop, task)
            try:
                self._waits_for = context.run(self._coroutine.send, None)
            except BaseException as ended:  # the task gets it: its own end, or what went wrong
                self._ended = ended
            finally:
                asyncio._leave_task(loop, task)
                if outer is not None:
                    asyncio._enter_task(loop, outer)
            if asyncio.isfuture(self._waits_for):
                # until the task asks, others may wait for the same future
                self._is_awaited = self._waits_for._asyncio_future_blocking
                self._waits_for._asyncio_future_blocking = False
            self._is_ahead = True

        def send(self, value: None, /) -> object:
            if self._is_ahead:
                if self._waits_for is not None or self._ended is not None:
                    return self._caught_up()
                self._is_ahead = False  # all that it waited for was this turn
            return self._coroutine.send(value)

        def throw(
            self,
            error: type[BaseException] | BaseException,
            value: object = None,
            trace: TracebackType | None = None,
            /,
        ) -> object:
            # a task gives the error itself and nothing else
            if self._is_ahead:
                waits_for = self._waits_for
                reason = error.args[0] if isinstance(error, BaseException) and error.args else None
                if self._ended is not None or (
                    asyncio.isfuture(waits_for) and waits_for.cancel(reason)
                ):
                    # as a task does that is cancelled while it waits: it cancels that, and waits
                    return self._caught_up()
                self._is_ahead, self._waits_for = False, None
            return self._coroutine.throw(error if isinstance(error, BaseException) else error())

        def close(self) -> None:
            self._coroutine.close()

        def __await__(self) -> Generator[Any, Any, None]:
            return self._coroutine.__await__()

        def _caught_up(self) -> object:
            """Let the task know what the first part came to."""
            waits_for, ended = self._waits_for, self._ended
            self._is_ahead, self._waits_for, self._ended = False, None, None
            if ended is not None:
                raise ended
            if asyncio.isfuture(waits_for):
                waits_for._asyncio_future_blocking = self._is_awaited
            return waits_for
