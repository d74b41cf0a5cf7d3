"""A thread for blocking work."""

from __future__ import annotations

import queue
import threading
import weakref
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeAlias

Done: TypeAlias = Callable[[BaseException | None], None]


class Worker(Protocol):
    """Does blocking work outside of the event loop."""

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Do `work`, then call `done` in `loop` with what it raised, or None."""


def settle(future: Future[None], error: BaseException | None) -> None:
    """Set the outcome of the work on `future`, unless it is done."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


_Work: TypeAlias = queue.SimpleQueue[Callable[[], None] | None]
"""Work in order; None ends the thread."""


class WriterThread:
    """One daemon thread for all writes, or `size` of them for writes that need not be in order.

    They start with the first write, and end when they are stopped, when this object is collected,
    or with the process.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._work: _Work = queue.SimpleQueue()
        self._end: weakref.finalize[[None], WriterThread] | None = None
        self._last: list[threading.Thread] = []
        self._starting = threading.Lock()

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Do `work`, with one thread after all earlier work."""

        def job() -> None:
            error: BaseException | None = None
            try:
                work()
            except BaseException as raised:  # for the submitter
                error = raised
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(done, error)

        with self._starting:
            if self._end is None:
                queued: _Work = queue.SimpleQueue()
                before, self._last = self._last, []
                for _ in range(self._size):
                    thread = threading.Thread(
                        target=_serve, args=(queued, before), name="toolplan-journal", daemon=True
                    )
                    thread.start()
                    self._last.append(thread)
                self._work = queued
                self._end = weakref.finalize(self, queued.put, None)
                self._end.atexit = False
            self._work.put(job)

    def stop(self) -> None:
        """End the threads after all submitted work; more work starts others."""
        with self._starting:
            if self._end is not None:
                self._end()
                self._end = None


def _serve(work: _Work, before: list[threading.Thread]) -> None:
    for thread in before:  # it may still do earlier work
        thread.join()
    del before
    # only the queue: a reference to the object would keep it alive
    while (job := work.get()) is not None:
        job()
        del job
    work.put(None)  # for the next thread
