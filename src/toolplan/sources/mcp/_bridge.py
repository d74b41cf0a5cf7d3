"""Runs coroutines in the event loop of the connections, for callers in other loops.

A portal of anyio blocks the caller's loop until the other one takes the call; this does not.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Closed(Exception):
    """The other loop has ended, and with it everything that ran there."""


async def run_in(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, _Result]]
) -> _Result:
    """Return what the coroutine of `make` returns in `loop`; cancelling this cancels it.

    It gets the caller's context variables.

    Raises:
        Closed: the loop has ended.
    """
    if asyncio.get_running_loop() is loop:
        return await make()
    try:
        return await asyncio.wrap_future(_submit(loop, make))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Closed from None  # the caller was not cancelled, but the loop ended


def wait_in(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, _Result]]
) -> _Result:
    """Return what the coroutine of `make` returns in `loop`, to code outside of that loop.

    Raises:
        Closed: the loop has ended.
        RuntimeError: this is called in that loop, which would wait for itself.
    """
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        raise RuntimeError("This would wait for itself: await `tools()` instead.")
    try:
        return _submit(loop, make).result()
    except concurrent.futures.CancelledError:
        raise Closed from None


def _submit(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, _Result]]
) -> concurrent.futures.Future[_Result]:
    coroutine = make()
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:  # the loop is closed
        coroutine.close()
        raise Closed from None
