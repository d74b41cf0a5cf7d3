"""Endpoints: one call to one model, without retries, and how it can fail."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint
from toolplan.providers._base import ModelRequest, Text, Usage
from toolplan.providers._specs import Spec


class Answered(Struct, frozen=True):
    """The reply is whole. `spent` is the usage of the call."""

    spent: Usage


Part: TypeAlias = Text | Answered | None
"""A part of an answer: text, its end, or None for a sign of life, such as a piece of a thought."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an endpoint is asked.

    Attributes:
        key: the key that is sent; empty for none.
        left_out: the parameters that are not sent: names of `SETTABLE`.
    """

    key: str = field(repr=False)
    left_out: frozenset[str] = frozenset()


class Endpoint(Protocol):
    """Makes one call to one model."""

    def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        """Make one call; `constrained` asks for a reply that follows `request.schema`.

        Raises:
            CallFailed: there is no whole reply.
        """
        ...


class OpensEndpoint(Protocol):
    """Returns the endpoint for a spec: one entry point of the group `toolplan.models`."""

    def __call__(self, spec: Spec, manner: Manner) -> Endpoint:
        """Return the endpoint. Nothing is called yet."""
        ...


class Failure(Struct, frozen=True):
    """Why a call gave no whole reply.

    Attributes:
        code: a code of `ModelError`.
        reason: one sentence; it names the model and holds no key.
        help: what the user can do.
        lasts: whether asking the same model again cannot help, as with a spent quota.
        retry_after_s: seconds that the endpoint asks to wait.
        schema: whether the endpoint may have refused the schema of the reply.
        changed: whether the endpoint writes the next request otherwise, without the parameter that
            was refused; it is made at once, and does not count as a try.
    """

    code: str
    reason: str
    help: str = ""
    lasts: bool = False
    retry_after_s: float | None = None
    schema: bool = False
    changed: bool = False


class CallFailed(ToolplanError):
    """A call to a model gave no whole reply. `spent` is its usage."""

    def __init__(self, failure: Failure, spent: Usage | None = None) -> None:
        super().__init__(failure.code, failure.reason, failure.help)
        self.failure = failure
        self.spent = spent or Usage()


def guarded_provider(entry: EntryPoint, offered: object) -> OpensEndpoint:
    """Return the provider of another package, with a guard that names the package in its faults.

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
        return _GuardedEndpoint(entry, endpoint)

    return opened


class _GuardedEndpoint:
    def __init__(self, entry: EntryPoint, inner: Endpoint) -> None:
        self._entry = entry
        self._inner = inner

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        entry = self._entry
        asked = cast("object", entry.call(self._inner.ask, request, constrained=constrained))
        if not isinstance(asked, AsyncGenerator):
            raise entry.wrong("has an `ask` that is no async generator")
        async with aclosing(cast("AsyncGenerator[object]", asked)) as parts:
            while True:
                try:
                    part = await anext(parts)
                except StopAsyncIteration:
                    return
                except ToolplanError:
                    raise  # on purpose
                except Exception as error:  # the code of another package may raise anything
                    raise entry.fault(error) from error
                yield entry.returned(part, Text, Answered, type(None), by="ask")
