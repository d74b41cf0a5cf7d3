"""What the calls of one run were given: events tell what came out, not what went in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolplan.path import Json, copied
from toolplan.tools import Arguments, Call, Tool, Toolbox, current_call


class CallUsage:
    """Keeps the arguments of every call of one run, and the exception of each that raised.

    Attributes:
        failures: by step and item (None without `for_each`), what the tool raised last.
    """

    def __init__(self) -> None:
        """Begin without any call."""
        self.failures: dict[tuple[str, int | None], Exception] = {}
        self._given: dict[str, dict[int | None, Arguments]] = {}

    def watch(self, tools: Iterable[Tool]) -> Toolbox:
        """Return `tools` such that their calls are kept; their tool objects stay what they are."""
        return Toolbox(
            tool if tool.call is None else replace(tool, call=self._watched(tool.call))
            for tool in tools
        )

    def arguments(self, step: str) -> Json:
        """Return what a step's tool was called with, references filled in.

        That is an object; a list of objects where the step made a call for each item; null where it
        made none.
        """
        calls = self._given.get(step, {})
        if None in calls:
            return copied(calls[None])
        items = sorted(item for item in calls if item is not None)
        return [copied(calls[item]) for item in items] if items else None

    def _watched(self, call: Call) -> Call:
        async def watched(arguments: Arguments) -> Json:
            made = current_call()
            if made is None:
                return await call(arguments)
            self._given.setdefault(made.step, {})[made.item] = dict(arguments)
            try:
                return await call(arguments)
            except Exception as error:  # a tool may raise anything; the engine says what becomes
                self.failures[made.step, made.item] = error
                raise

        return watched
