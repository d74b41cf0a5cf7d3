"""Questions and runs that are under way in an app: leaving the app waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from toolplan.errors import ToolplanError


def app_closed() -> ToolplanError:
    """Return the error for the use of an app that is closed, or is being left."""
    return ToolplanError("app-closed", "The app is closed.", "Open another one.")


class UnderWay:
    """The tasks that answer questions or run plans; it refuses more once it is left."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any] | None] = []
        self._left = False

    @contextmanager
    def task(self) -> Generator[None]:
        """Count the present task while the block runs.

        Raises:
            ToolplanError: the app is left.
        """
        if self._left:
            raise app_closed()
        task = asyncio.current_task()
        self._tasks.append(task)
        try:
            yield
        finally:
            self._tasks.remove(task)

    async def leave(self, *, cancel: bool) -> None:
        """Refuse more, and wait for all that is under way in this event loop.

        With `cancel` it is cancelled first: a run that is cancelled is kept as such.
        """
        self._left = True
        loop, own = asyncio.get_running_loop(), asyncio.current_task()
        others = {
            task
            for task in self._tasks
            if task is not None and task is not own and task.get_loop() is loop
        }
        for task in others if cancel else ():
            task.cancel()
        if others:
            await asyncio.wait(others)


class Leavable(Protocol):
    """Something that can be left, and counts what is under way in it."""

    @property
    def under_way(self) -> UnderWay:
        """What is under way."""
        ...


_P = ParamSpec("_P")
_T = TypeVar("_T")
_L = TypeVar("_L", bound=Leavable)


def counted(
    method: Callable[Concatenate[_L, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[_L, _P], Coroutine[Any, Any, _T]]:
    """Count what a method does as under way until it ends."""

    @wraps(method)
    async def counting(self: _L, *args: _P.args, **options: _P.kwargs) -> _T:
        with self.under_way.task():
            return await method(self, *args, **options)

    return counting
