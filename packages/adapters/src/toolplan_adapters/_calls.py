"""Calling user code without blocking the event loop, and a log of the calls of one run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar, TypeVarTuple, cast

from msgspec.structs import replace

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.path import Json, copied
from toolplan.schema.tool import Arguments, Call, Tool, Toolbox
from toolplan.schema.tool_call import current_call

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
        result = await run_in_thread(partial(function, *given), threads_of(_source_of(function)))
    if inspect.isawaitable(result):
        return await result
    return cast("Result", result)  # no type checker knows that a `Result` is not awaitable itself


def _source_of(function: object) -> str:
    return str(getattr(function, "__module__", "")) or "python"


class CallLog:
    """Records the arguments of each call of one run; events hold outputs only."""

    def __init__(self) -> None:
        self._given: dict[str, dict[int | None, Arguments]] = {}

    def record(self, tools: Iterable[Tool]) -> Toolbox:
        """Return `tools` with their calls recorded."""
        return Toolbox(
            tool if tool.call is None else replace(tool, call=self._recorded(tool.call))
            for tool in tools
        )

    def arguments(self, step: str) -> Json:
        """Return the arguments of a step's call, with references filled in.

        For a step with `for_each` they are a list of objects; null if no call was made.
        """
        calls = self._given.get(step, {})
        if None in calls:
            return copied(calls[None])
        items = sorted(item for item in calls if item is not None)
        return [copied(calls[item]) for item in items] if items else None

    def _recorded(self, call: Call) -> Call:
        async def recorded(arguments: Arguments) -> Json:
            current = current_call()
            if current is not None:
                self._given.setdefault(current.step, {})[current.item] = dict(arguments)
            return await call(arguments)

        return recorded
