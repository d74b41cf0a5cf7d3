"""An event loop for commands, which ends even while tools still run.

`asyncio.run` waits without a limit for tasks that swallow their cancellation, and for threads.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import Task
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from toolplan.base.threads import Threads, threads_of

GRACE_S: Final = 1.0
"""How long the end of a loop waits for tasks that were cancelled, in seconds."""

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_left: Final[set[Task[Any]]] = set()
_given_up = threading.Event()


def note_given_up() -> None:
    """Note that a call was given up: it may run on, in threads that are not known."""
    _given_up.set()


def was_given_up() -> bool:
    """Return whether any call of this process was given up, or any task left behind."""
    return _given_up.is_set() or bool(_left)


def leave_behind(tasks: Iterable[Task[Any]]) -> None:
    """Let the end of the event loop not wait for `tasks`, which swallow their cancellation."""
    for task in tasks:
        # kept: a task that is collected while it runs may not end then either
        _left.add(task)
        task.add_done_callback(_left.discard)
        asyncio._unregister_task(task)  # documented in asyncio under "Extending"
        task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]


def left_behind() -> int:
    """Return the number of tasks that were left behind and still run."""
    return len(_left)


def run_bounded(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run `work` in a new event loop and return its result, as `asyncio.run` does.

    Tasks that swallow their cancellation and threads that hang are left behind after `GRACE_S`.
    """
    with asyncio.Runner() as runner:
        threads = threads_of("asyncio.to_thread")
        runner.get_loop().set_default_executor(_Daemons(threads))
        try:
            return runner.run(work)
        finally:
            runner.run(_end_tasks())


async def _end_tasks() -> None:
    loop = asyncio.get_running_loop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await _end_or_leave(others)
    await _end_or_leave({loop.create_task(loop.shutdown_asyncgens())})


async def _end_or_leave(tasks: Iterable[Task[Any] | None]) -> None:
    known = {task for task in tasks if task is not None}
    if known:
        _, pending = await asyncio.wait(known, timeout=GRACE_S)
        leave_behind(pending)


class _Daemons(ThreadPoolExecutor):
    """Daemon threads, for which neither the loop nor the interpreter waits at its end."""

    def __init__(self, threads: Threads) -> None:
        super().__init__(1)
        self._threads_of_source = threads

    def submit(
        self, fn: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        """Have `fn` called in one of the threads."""
        return self._threads_of_source.submit(partial(fn, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the threads end with the process."""
