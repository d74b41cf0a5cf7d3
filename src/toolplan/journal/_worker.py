"""A thread for what blocks."""

from __future__ import annotations

import queue
import threading
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


class WriterThread:
    """One daemon thread for all that is written; it ends with the process."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
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

        self._work.put(job)
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="toolplan-journal", daemon=True
                )
                self._thread.start()

    def _serve(self) -> None:
        while True:
            self._work.get()()
