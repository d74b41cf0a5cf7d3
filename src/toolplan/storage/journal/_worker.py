"""A thread for what blocks."""

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
    """Does what blocks, elsewhere."""

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Have `work` done, then `done` called in `loop` with what it raised, or None."""
        ...


def settle(future: Future[None], error: BaseException | None) -> None:
    """Tell whoever waits for `future` how the work ended, if they still wait."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


_Work: TypeAlias = queue.SimpleQueue[Callable[[], None] | None]
"""What is to be done, in order; None ends the thread."""


class WriterThread:
    """One daemon thread for all that is written.

    It is started when there is something to write, and ends when it is stopped, when nobody holds
    this object any more, or with the process.
    """

    def __init__(self) -> None:
        self._work: _Work = queue.SimpleQueue()
        self._end: weakref.finalize[[None], WriterThread] | None = None
        self._last: threading.Thread | None = None
        self._starting = threading.Lock()

    def submit(self, loop: AbstractEventLoop, work: Callable[[], None], done: Done) -> None:
        """Do `work` after what was submitted before."""

        def job() -> None:
            error: BaseException | None = None
            try:
                work()
            except BaseException as raised:  # it belongs to whoever submitted the work
                error = raised
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
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
        """Let the thread end when all is done that was submitted; more work starts another."""
        with self._starting:
            if self._end is not None:
                self._end()
                self._end = None


def _serve(work: _Work, before: threading.Thread | None) -> None:
    if before is not None:  # it may still be doing what was submitted before it was stopped
        before.join()
        del before
    # it knows the queue alone: a thread that knew the object would keep it
    while (job := work.get()) is not None:
        job()
        del job
