"""Threads for calls that block: bounded in number, and never in the way of the program's end.

The threads are daemons, unlike those of `concurrent.futures`, for which the interpreter waits at
its end: a tool that hangs fails its own step, and may not keep the program from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import lru_cache, partial
from queue import SimpleQueue
from typing import Final, TypeVar

MAX_THREADS: Final = 32
_STOP_AGAIN_S: Final = 0.05

_Result = TypeVar("_Result")


class Threads:
    """At most `size` daemon threads, each started when it is first needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._starting = threading.Lock()
        self._started = 0

    def submit(self, function: Callable[[], _Result]) -> Future[_Result]:
        """Have `function` called in one of the threads, as soon as one is free."""
        future: Future[_Result] = Future()
        self._work.put(partial(_carry_out, function, future))
        self._start_if_all_are_busy()
        return future

    def _start_if_all_are_busy(self) -> None:
        if self._idle.acquire(blocking=False):
            return
        with self._starting:
            if self._started >= self._size:
                return
            self._started += 1
        threading.Thread(target=self._serve, name="toolplan-tool", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._work.get()()
            self._idle.release()


def _carry_out(function: Callable[[], _Result], future: Future[_Result]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except StopIteration as error:  # which no coroutine may let out
        stopped = RuntimeError("The tool raised StopIteration.")
        stopped.__cause__ = error
        future.set_exception(stopped)
    except BaseException as error:  # a tool may raise anything; the caller gets it
        future.set_exception(error)
    else:
        future.set_result(result)


@lru_cache(maxsize=1)
def _threads() -> Threads:
    return Threads(MAX_THREADS)


async def run_in_thread(
    function: Callable[[], _Result], *, on_cancel: Callable[[], None] | None = None
) -> _Result:
    """Return what `function` gives, called in a thread with the context variables of the caller.

    When the caller is cancelled, `on_cancel` is called, again and again until the thread is done;
    without it the thread is left alone with what it does.
    """
    future = _threads().submit(partial(copy_context().run, function))
    waiting = asyncio.wrap_future(future)
    if on_cancel is None:
        return await waiting
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        if future.cancel():  # it had not begun
            raise
        while not waiting.done():
            on_cancel()
            await asyncio.wait([waiting], timeout=_STOP_AGAIN_S)
        if not waiting.cancelled():
            waiting.exception()  # retrieved, so that asyncio does not log it
        raise
