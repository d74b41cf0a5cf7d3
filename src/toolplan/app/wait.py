"""A coroutine run to its end in an event loop of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolplan.base.errors import ToolplanError
from toolplan.base.event_loop import run_bounded
from toolplan.base.extensions import described

_T = TypeVar("_T")


class RunStopped(ToolplanError):
    """Code of a tool cancelled the run, or stopped its event loop; the code is `run-stopped`."""

    def __init__(self, help: str | None = None) -> None:
        message = "Code of a tool cancelled the run, or stopped its event loop."
        super().__init__("run-stopped", message, help)


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` and return its result; tasks and threads that do not end are left behind.

    Raises:
        RunStopped: it was cancelled, or its loop stopped, which nothing here does.
    """
    raised: list[BaseException] = []

    async def watched() -> _T:
        try:
            return await work
        except BaseException as error:
            raised.append(error)
            raise

    try:
        return run_bounded(watched())
    except (asyncio.CancelledError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and error in raised:
            raise
    raise RunStopped("`toolplan runs` lists the run, and `toolplan resume RUN` resumes it.")


def wait(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine of an app to its end, where no event loop runs.

    Raises:
        ToolplanError: one runs already, or `work` is nothing that is awaited.
    """
    if not inspect.isawaitable(work):
        raise ToolplanError(
            "usage",
            f"app.wait takes what is awaited, and this is {described(work)}.",
            "Write `app.wait(app.ask(…))`; what `app.check(…)` and `app.runs()` return needs none.",
        )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(work)
    name = getattr(work, "__name__", "ask")
    work.close()
    raise ToolplanError(
        "running-loop",
        "An event loop is running already, as in a notebook.",
        f"Write `await app.{name}(…)` instead of `app.wait(app.{name}(…))`.",
    )
