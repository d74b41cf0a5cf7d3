"""How a server is reached, as a process or over HTTP."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from errno import ENOTDIR
from pathlib import Path
from typing import TypeAlias

from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from toolplan.sources.mcp._authorised import Access
from toolplan.sources.mcp._events import MAX_EVENT_BYTES
from toolplan.sources.mcp._http import http_client
from toolplan.sources.mcp._interceptors import InterceptedReceiving, InterceptedSending, Interceptor
from toolplan.sources.mcp._stderr import StandardError
from toolplan.sources.mcp.servers import HttpServer, StdioServer

Streams: TypeAlias = tuple[InterceptedReceiving, InterceptedSending]
Transport: TypeAlias = AbstractAsyncContextManager[Streams]


@asynccontextmanager
async def over_stdio(
    server: StdioServer, interceptor: Interceptor, stderr: StandardError
) -> AsyncGenerator[Streams, None]:
    """Start the server's process, and end it for sure, with all that it has started.

    Raises:
        OSError: it cannot be started.
    """
    try:
        started = StdioServerParameters(
            command=_found(server.command),
            args=list(server.args),
            env=dict(server.env),
            cwd=_folder(server.cwd),
        )
        # bytes that are not UTF-8 stay what they are, and fail the one answer that has them
        started = started.model_copy(update={"encoding_error_handler": "surrogateescape"})
        async with stdio_client(started, errlog=stderr.file) as (read, write):
            stderr.close()
            yield InterceptedReceiving(read, interceptor), InterceptedSending(write, interceptor)
    finally:
        stderr.close()


@asynccontextmanager
async def over_http(
    server: HttpServer,
    interceptor: Interceptor,
    on_session_lost: Callable[[], None],
    access: Access | None = None,
) -> AsyncGenerator[Streams, None]:
    """Speak to the server's address; requests that fail fail alone."""
    client = http_client(dict(server.headers), on_session_lost, access)
    if server.transport == "sse":
        # the transport opens a client of its own, and closes it
        async with sse_client(
            server.url,
            httpx_client_factory=lambda headers=None, timeout=None, auth=None: client,
            sse_read_timeout=86_400.0,
        ) as (read, write):
            yield InterceptedReceiving(read, interceptor), InterceptedSending(write, interceptor)
        return
    async with (
        client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES
        ) as (read, write),
    ):
        yield InterceptedReceiving(read, interceptor), InterceptedSending(write, interceptor)


def _folder(cwd: str | None) -> str | None:
    if cwd is not None and not Path(cwd).is_dir():
        raise NotADirectoryError(ENOTDIR, f"there is no folder {cwd!r} to start it in")
    return cwd


def _found(command: str) -> str:
    """Return the path of `command`; one that is not on the PATH may stand beside this Python.

    So `toolplan` is found in an environment that is not activated.
    """
    if shutil.which(command) is None and Path(command).name == command:
        beside = Path(sys.executable).parent / command
        if beside.is_file():
            return str(beside)
    return command
