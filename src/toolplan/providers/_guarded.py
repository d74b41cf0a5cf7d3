"""A provider of models of another package: what it raises or returns wrongly names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from toolplan.errors import ToolplanError
from toolplan.extensions import EntryPoint
from toolplan.providers._base import ModelRequest, Text
from toolplan.providers._endpoint import Answered, Endpoint, Manner, OpensEndpoint, Part
from toolplan.providers._specs import Spec


def guarded_provider(entry: EntryPoint, offered: object) -> OpensEndpoint:
    """Return what opens endpoints, as a package offers it, with a guard around it.

    Raises:
        ExtensionError: it cannot be called.
    """
    if not callable(offered):
        raise entry.wrong("is no function that opens an endpoint")
    opens = cast("OpensEndpoint", offered)

    def opened(spec: Spec, manner: Manner) -> Endpoint:
        endpoint = entry.call(opens, spec, manner)
        if isinstance(endpoint, type) or not callable(getattr(endpoint, "ask", None)):
            raise entry.wrong("opened an endpoint that has no method `ask`")
        return _Guarded(entry, endpoint)

    return opened


class _Guarded:
    def __init__(self, entry: EntryPoint, inner: Endpoint) -> None:
        self._entry = entry
        self._inner = inner

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        asked = cast("object", self._entry.call(self._inner.ask, request, constrained=constrained))
        if not isinstance(asked, AsyncGenerator):
            raise self._entry.wrong("has an `ask` that is no async generator")
        parts = cast("AsyncGenerator[object]", asked)
        async with aclosing(parts):
            while (part := await self._next(parts)) is not _END:
                yield self._entry.returned(part, Text, Answered, type(None), by="ask")

    async def _next(self, parts: AsyncGenerator[object]) -> object:
        try:
            return await anext(parts, _END)
        except ToolplanError:
            raise  # on purpose
        except Exception as error:  # the code of another package may raise anything
            raise self._entry.fault(error) from error


_END = object()
