"""Calling what users bring: functions of either kind, which must not hold up the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, TypeVarTuple, cast

from toolplan.sources._threads import run_in_thread

Given = TypeVarTuple("Given")
Result = TypeVar("Result")


async def called(
    function: Callable[[*Given], Awaitable[Result] | Result], *given: *Given
) -> Result:
    """Return what `function` gives; one that is no coroutine function is called in a thread.

    So it can be given up: the caller goes on, and the thread is left alone with what it does.
    """
    if inspect.iscoroutinefunction(function):
        made: Awaitable[Result] | Result = function(*given)
    else:
        made = await run_in_thread(partial(function, *given))
    if inspect.isawaitable(made):
        return await made
    return cast("Result", made)  # no type checker knows that a `Result` is not awaitable itself
