"""Events of servers while they are used, as values.

Texts come from servers: control characters and secrets are out of them, and they are cut.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class ServerStarted(Struct, frozen=True):
    """A server answers. `starts` counts: 1 for the first time, more after each death."""

    server: str
    name: str
    version: str
    protocol: str
    starts: int


class ServerLost(Struct, frozen=True):
    """A server is gone, or could not be started; it is started again when it is next needed."""

    server: str
    reason: str
    retry_after_s: float


class ServerSaid(Struct, frozen=True):
    """A server logs something. `level` is MCP's, or `stderr`."""

    server: str
    level: str
    text: str


class ToolsChanged(Struct, frozen=True):
    """A server lists other tools than before; changed tools are not called any more."""

    server: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


class ToolRefused(Struct, frozen=True):
    """A tool that a server lists is not offered."""

    server: str
    tool: str
    reason: str


class RequestRefused(Struct, frozen=True):
    """A server asked for something that a plan does not give: a model's or a person's answer."""

    server: str
    method: str


Notice: TypeAlias = (
    ServerStarted | ServerLost | ServerSaid | ToolsChanged | ToolRefused | RequestRefused
)
