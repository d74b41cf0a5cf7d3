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
    """One daemon thread for all writes.

    It starts with the first write, and ends when it is stopped, when this object is collected, or
    with the process.
    """

    def __init__(self) -> None:
        self._work: _Work = queue.SimpleQueue()
        self._end: weakref.finalize[[None], WriterThread] | None = None
        self._last: threading.Thread | None = None
        self._starting = threading.Lock()

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Do `work` after all earlier work."""

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
                thread = threading.Thread(
                    target=_serve, args=(queued, self._last), name="toolplan-journal", daemon=True
                )
                thread.start()
                self._work, self._last = queued, thread
                self._end = weakref.finalize(self, queued.put, None)
                self._end.atexit = False
            self._work.put(job)

    def stop(self) -> None:
        """End the thread after all submitted work; more work starts another."""
        with self._starting:
            if self._end is not None:
                self._end()
                self._end = None


def _serve(work: _Work, before: threading.Thread | None) -> None:
    if before is not None:  # it may still do earlier work
        before.join()
        del before
    # only the queue: a reference to the object would keep it alive
    while (job := work.get()) is not None:
        job()
        del job
