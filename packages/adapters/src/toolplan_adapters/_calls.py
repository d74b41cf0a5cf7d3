"""Calling user code without blocking the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, TypeVarTuple, cast

from toolplan.base.threads import run_in_thread, threads_of

Given = TypeVarTuple("Given")
Result = TypeVar("Result")


async def call_user(
    function: Callable[[*Given], Awaitable[Result] | Result], *given: *Given
) -> Result:
    """Return the result of `function`, which runs in a thread if it is not a coroutine function.

    So the caller can stop waiting for it; the thread then ends by itself.
    """
    if inspect.iscoroutinefunction(function):
        result: Awaitable[Result] | Result = function(*given)
    else:
        source = str(getattr(function, "__module__", "")) or "python"
        result = await run_in_thread(partial(function, *given), threads_of(source))
    if inspect.isawaitable(result):
        return await result
    return cast("Result", result)  # no type checker knows that a `Result` is not awaitable itself
