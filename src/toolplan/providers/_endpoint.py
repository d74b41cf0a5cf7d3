"""What an endpoint is: one call to one model, without retries."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from msgspec import Struct

from toolplan.providers._base import ModelRequest, Text, Usage
from toolplan.providers._specs import Spec


class Answered(Struct, frozen=True):
    """The reply is whole. `spent` is what the call has used."""

    spent: Usage


Part: TypeAlias = Text | Answered | None
"""A part of an answer: text, its end, or None for a sign of life, such as a piece of a thought."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an endpoint is asked.

    Attributes:
        key: the key that is sent; empty for none.
        streamed: whether the reply is asked for as it is written, or as one.
        left_out: the parameters that are not sent: names of `SETTABLE`.
    """

    key: str = field(repr=False)
    streamed: bool = True
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
