"""Threads for calls that block: bounded in number, and never in the way of the program's end.

The threads are daemons, unlike those of `concurrent.futures`, for which the interpreter waits at
its end: a tool that hangs fails its own step, and may not keep the program from ending.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from toolplan.base.errors import ToolplanError

MAX_THREADS: Final = 512
"""Maximum number of concurrent calls of one source; a run makes at most 32 by default."""

MAX_HUNG: Final = 512
"""Maximum number of hanging calls of one source; beyond it, its calls are refused."""

_REPORTED: Final = frozenset((1, 10, 100, MAX_HUNG))
_STOP_AGAIN_S: Final = 0.05
_LOG: Final = logging.getLogger(__name__)

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Threads:
    """At most `size` daemon threads for the calls of the source `name`.

    A call that is given up gives its place back, so calls that hang do not stop the others. Its
    thread ends when the call does.

    Attributes:
        hung: the number of calls that were given up and still run.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._size = size
        self.reset()

    def reset(self) -> None:
        """Begin anew, without threads: in a forked program there are none."""
        self.hung = 0
        self._changed = threading.Condition()
        self._work: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._waiting = 0  # threads without work
        self._places = 0
        self._given_up: set[Future[Any]] = set()

    def submit(self, function: Callable[[], _Result]) -> Future[_Result]:
        """Queue `function` for the next thread that is free.

        Raises:
            ToolplanError: too many earlier calls were given up and still run (`calls-hang`).
        """
        future: Future[_Result] = Future()
        with self._changed:
            if self.hung >= MAX_HUNG:
                given_up = f"{self.hung} calls of {self.name!r} were given up and still run"
                fault = f"{given_up}; no more are made until some end."
                raise ToolplanError("calls-hang", fault)
            self._work.append((future, function))
            self._find_thread()
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Stop waiting for a call.

        It is not made if it has not begun; otherwise it is counted in `hung` as long as it runs.
        """
        with self._changed:
            if future.cancel() or future.done() or future in self._given_up:
                return
            self._given_up.add(future)
            self.hung += 1
            self._places -= 1
            if self._work:
                self._find_thread()
            hung = self.hung
        if self.name and hung in _REPORTED:
            _LOG.warning(
                "A call of %r was given up and still runs in its thread (%d such calls).",
                self.name,
                hung,
            )

    def _find_thread(self) -> None:
        if self._waiting >= len(self._work):
            self._changed.notify()
        elif self._places < self._size:
            self._places += 1
            threading.Thread(target=self._serve, name="toolplan-tool", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._work:
                    self._waiting += 1
                    self._changed.wait()
                    self._waiting -= 1
                future, function = self._work.popleft()
            _carry_out(function, future)
            with self._changed:
                if future in self._given_up:
                    self._given_up.remove(future)
                    self.hung -= 1
                    return  # another thread may have its place
            del future, function


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


_KNOWN: Final[dict[str, Threads]] = {}


def threads_of(name: str, size: int = MAX_THREADS) -> Threads:
    """Return the threads of the source `name`; the empty name is toolplan itself."""
    known = _KNOWN.get(name)
    return _KNOWN.setdefault(name, Threads(name, size)) if known is None else known


def _forget() -> None:
    for threads in _KNOWN.values():
        threads.reset()


if hasattr(os, "register_at_fork"):  # a forked program has none of the threads
    os.register_at_fork(after_in_child=_forget)


def hung_calls() -> dict[str, int]:
    """Return how many calls of each source were given up and still run, where there are any."""
    return {name: threads.hung for name, threads in [*_KNOWN.items()] if threads.hung}


async def run_in_thread(
    function: Callable[[], _Result],
    threads: Threads,
    *,
    on_cancel: Callable[[], None] | None = None,
) -> _Result:
    """Return the result of `function`, called in a thread with the caller's context variables.

    When the caller is cancelled, the call is given up. Then `on_cancel` is called, again and again
    until the thread is done; without it the thread runs on by itself.

    Raises:
        ToolplanError: too many earlier calls were given up and still run (`calls-hang`).
    """
    future = threads.submit(partial(copy_context().run, function))
    waiting = asyncio.wrap_future(future)
    try:
        return await (waiting if on_cancel is None else asyncio.shield(waiting))
    except asyncio.CancelledError:
        threads.give_up(future)
        while on_cancel is not None and not waiting.done():
            on_cancel()
            await asyncio.wait([waiting], timeout=_STOP_AGAIN_S)
        if on_cancel is not None and not waiting.cancelled():
            waiting.exception()  # retrieved, so that asyncio does not log it
        raise


async def in_thread(
    function: Callable[_Given, _Result], *args: _Given.args, **named: _Given.kwargs
) -> _Result:
    """Return the result of `function`, called in a thread that tools cannot occupy."""
    return await run_in_thread(partial(function, *args, **named), threads_of(""))
