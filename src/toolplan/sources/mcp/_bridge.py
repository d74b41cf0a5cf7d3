"""The way into the event loop of the connections, from any other, and back.

It does what a portal of anyio does for one call, at a fifth of the cost: calls are many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Final, TypeVar

_Result = TypeVar("_Result")


class Closed(Exception):
    """The other loop does not run any more; whatever went on there was given up."""


class LoopBridge:
    """Runs coroutines in another thread's event loop for callers in loops of their own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, variables: Context) -> None:
        """Hold the other loop.

        Args:
            loop: the other one; it runs.
            variables: context variables that code there relies on, such as the name of the
                library that runs the loop: looking for it is dearer than all else here.
        """
        self._loop: Final = loop
        self._variables: Final = tuple(variables.items())
        self._going_on: Final[set[asyncio.Task[Any]]] = set()  # a loop holds its tasks weakly

    def wait_for(self, make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Return what the coroutine gives, to code that runs in no event loop, or in another one.

        Raises:
            Closed: the other loop has ended.
            RuntimeError: this is called in the other loop, which would wait for itself.
        """
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            raise RuntimeError("This would wait for itself: await `tools()` instead.")
        if self._loop.is_closed():
            raise Closed
        return asyncio.run_coroutine_threadsafe(make(), self._loop).result()

    async def run(self, make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Return what the coroutine that `make` makes there gives; cancelling this cancels it.

        It gets the caller's context variables. In that very loop it is simply awaited.

        Raises:
            Closed: the other loop has ended.
        """
        here = asyncio.get_running_loop()
        if here is self._loop:
            return await make()
        arrived: asyncio.Future[_Result] = here.create_future()
        begun: list[asyncio.Task[_Result]] = []

        runtime = copy_context()
        for variable, value in self._variables:
            runtime.run(variable.set, value)

        def begin() -> None:
            task = self._loop.create_task(make(), context=runtime)
            begun.append(task)
            self._going_on.add(task)
            task.add_done_callback(ended)

        def ended(task: asyncio.Task[_Result]) -> None:
            self._going_on.discard(task)
            if not task.cancelled():
                task.exception()  # seen, so that nobody complains where the caller has left
            if not here.is_closed():
                _soon(here, _arrive, arrived, task)

        def cancel() -> None:
            for task in begun:
                task.cancel()

        if not _soon(self._loop, begin):
            raise Closed
        try:
            return await arrived
        except asyncio.CancelledError:
            _soon(self._loop, cancel)
            raise


def _arrive(arrived: asyncio.Future[_Result], task: asyncio.Task[_Result]) -> None:
    if arrived.done():  # the caller has left
        return
    if task.cancelled():
        arrived.set_exception(Closed())
        return
    error = task.exception()
    if error is None:
        arrived.set_result(task.result())
    else:
        arrived.set_exception(error)


def _soon(
    loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object
) -> bool:
    """Have `function` called in `loop`; say whether there still is one."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        return False
    return True
