"""One connection to a server, over HTTP or to a process of it, from the handshake to its end."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from errno import ENOTDIR
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.server import MCPServer
from mcp.server import Server as SdkServer
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    RequestParamsMeta,
    ToolListChangedNotification,
)
from msgspec import Struct
from pydantic import TypeAdapter

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp._http import MAX_EVENT_BYTES, http_client
from toolplan.tools.mcp._listing import Listing, Page, read_listing
from toolplan.tools.mcp._oauth import Access, Redirects
from toolplan.tools.mcp._wire import Interceptor, Streams, clean
from toolplan.tools.mcp.notices import (
    Notice,
    RequestRefused,
    ServerSaid,
    ServerStarted,
    ToolsChanged,
)
from toolplan.tools.mcp.servers import HttpServer, LocalServer, Server, StdioServer, place_of
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.secrets import Mask

_KEPT_LINES: Final = 20
_LONGEST_LINE: Final = 500
_LONGEST_ENDING: Final = 1_000
_CHUNK: Final = 65_536


class StandardError:
    """A pipe for a process's standard error, read by a thread until the process has ended."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """Call `report` with each line, from the thread."""
        self._report = report
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._read, name="toolplan-mcp-stderr", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close this end of the pipe; the thread ends when the server closes its end."""
        self.file.close()

    def ending(self, wait_s: float) -> str:
        """Return the last lines, after at most `wait_s` seconds for the rest to come in.

        They have at most 1,000 characters: the cause is at the end.
        """
        self._thread.join(wait_s)
        text = "\n".join([*self._lines])
        if len(text) <= _LONGEST_ENDING:
            return text
        whole = text[-_LONGEST_ENDING:].partition("\n")[2]
        return f"…\n{whole}"

    def _read(self) -> None:
        rest = b""
        with os.fdopen(self._reading, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-_CHUNK:]
                for line in lines:
                    self._keep(line)
        self._keep(rest)

    def _keep(self, line: bytes) -> None:
        # a line stays one line: a secret that is cut in two would not be masked
        text = line.decode(errors="replace").strip("\r")
        if len(text) > _LONGEST_LINE:  # a cause is where a line begins, or where it ends
            text = f"{text[: _LONGEST_LINE // 2]} … {text[-_LONGEST_LINE // 2 :]}"
        if text.strip():
            self._lines.append(text)
            self._report(text)


def _process_of(server: StdioServer) -> StdioServerParameters:
    """Return the parameters of the process; its command may also stand beside this Python.

    So `toolplan` is found in an environment that is not activated.
    """
    if server.cwd is not None and not Path(server.cwd).is_dir():
        raise NotADirectoryError(ENOTDIR, f"there is no folder {server.cwd!r} to start it in")
    command, beside = server.command, Path(sys.executable).parent / server.command
    is_plain = Path(command).name == command
    if is_plain and shutil.which(command) is None and beside.is_file():
        command = str(beside)
    process = StdioServerParameters(
        command=command, args=[*server.args], env=dict(server.env), cwd=server.cwd
    )
    # bytes that are not UTF-8 are kept, and fail only the answer that has them
    return process.model_copy(update={"encoding_error_handler": "surrogateescape"})


Progress: TypeAlias = Callable[[float, float | None, str], None]
Called: TypeAlias = CallToolResult | InputRequiredResult
_Target: TypeAlias = (
    AbstractAsyncContextManager[tuple[Interceptor, Interceptor]] | SdkServer[Any] | MCPServer[Any]
)
OnEvent: TypeAlias = Callable[[Notice], None]
"""Called with each notice about servers, from threads of the source; it should be quick."""

_CALLED: Final[TypeAdapter[Called]] = TypeAdapter(CallToolResult | InputRequiredResult)
_LISTEN_AGAIN_S: Final = 1.0
_LOG: Final = logging.getLogger(__name__)


class Terms(Struct, frozen=True):
    """Settings of all connections of a source: the options of `connected`."""

    timeout_s: float = 30.0
    start_timeout_s: float = 30.0
    recheck_s: float | None = 60.0
    clock: Callable[[], float] = time.monotonic
    on_event: OnEvent | None = None
    sign_ins: SignIns | None = None
    asks: Redirects | None = None
    trusted: Collection[str] = ()
    idle_s: float = 0.0

    def report(self, notice: Notice) -> None:
        """Call `on_event` with `notice`; an error in it is logged and ends no connection."""
        try:
            if self.on_event is not None:
                self.on_event(notice)
        except Exception:  # third-party code
            _LOG.exception("A watcher of MCP servers failed.")


class Link:
    """A connection to a server. `over` is set when it is lost, or given up."""

    def __init__(
        self, name: str, server: Server, mask: Mask, terms: Terms, access: Access | None
    ) -> None:
        self.name = name
        self.over = anyio.Event()
        self.stderr = StandardError(self._written) if isinstance(server, StdioServer) else None
        self.started = ServerStarted(name, "", "", "", 0)
        self._identity: dict[str, Json] = {}
        self._server = server
        self._mask = mask
        self._terms = terms
        self._access = access
        self._session: ClientSession
        self._interceptor = Interceptor(
            self.over.set, self._asked, is_process=not isinstance(server, HttpServer)
        )
        self._listing: Listing | None = None
        self._listed_at = 0.0
        self._is_stale = True
        self._listing_now = anyio.Lock()

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None, None]:
        """Connect to the server, list its tools, and hold the connection for the block.

        The task that entered it must exit it.

        Raises:
            Exception: of many kinds; `reason_of` explains them.
        """
        async with Client(
            self._target(),
            client_info=Implementation(name="toolplan", version="1"),
            read_timeout_seconds=None,
            cache=None,
            log_level="info",
            logging_callback=self._logged,
            message_handler=self._received,
        ) as client:
            self._session, info = client.session, client.server_info
            said = ("", "") if info is None else (info.name, info.version)
            name, version = (self._mask(clean(each, 200)) for each in said)
            self._identity = {**place_of(self._server), "name": name, "version": version}
            self.started = ServerStarted(self.name, name, version, client.protocol_version, 1)
            await self.listing()
            tools = client.server_capabilities.tools
            async with anyio.create_task_group() as tasks:
                if tools is not None and tools.list_changed:
                    tasks.start_soon(self._watch, client)
                yield
                tasks.cancel_scope.cancel()

    def stale(self) -> None:
        """Record that the server may list other tools now: the next call looks first."""
        self._is_stale = True

    @property
    def known(self) -> Listing | None:
        """The tools as they were listed; None where they have to be listed again first."""
        recheck_s = self._terms.recheck_s
        is_old = recheck_s is not None and self._terms.clock() - self._listed_at > recheck_s
        return None if self._is_stale or is_old else self._listing

    async def listing(self) -> Listing:
        """Return the tools that the server lists now."""
        async with self._listing_now:
            if (known := self.known) is not None:
                return known
            # a change reported while the pages come in makes the next call look again
            self._is_stale = False
            before = self._listing
            try:
                disabled = self._server.disabled_tools
                read = await read_listing(self.name, self._identity, self._page, disabled)
            except BaseException:
                self._is_stale = True
                raise
            self._listing, self._listed_at = read, self._terms.clock()
            if before is not None and read.tools != before.tools:
                old, new = before.tools, read.tools
                changed = [name for name in new.keys() & old.keys() if new[name] != old[name]]
                names = (new.keys() - old.keys(), changed, old.keys() - new.keys())
                self._terms.report(ToolsChanged(self.name, *(tuple(sorted(e)) for e in names)))
            return read

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json],
        report_progress: Progress | None,
        meta: RequestParamsMeta | None,
    ) -> Called:
        """Call a tool, once. The result is not looked at: the engine does that."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if report_progress is not None:
                report_progress(progress, total, clean(self._mask(message or "")))

        # not `call_tool` of the SDK: that holds results to the server's own schema, whose patterns
        # may take for ever, and sends a call again where headers do not fit
        return await self._session.send_request(
            CallToolRequest(
                params=CallToolRequestParams(name=name, arguments=dict(arguments), _meta=meta)
            ),
            _CALLED,
            progress_callback=None if report_progress is None else on_progress,
        )

    async def _watch(self, client: Client) -> None:
        """Listen for changes of tools, where the protocol wants to be asked for them."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self.stale()
            except ListenNotSupportedError:
                return
            except (MCPError, SubscriptionLost, TimeoutError):
                self.stale()  # changes reported in between are not reported again
            await anyio.sleep(_LISTEN_AGAIN_S)

    async def _page(self, cursor: str | None) -> Page:
        self._interceptor.page = None
        result = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        sent = self._interceptor.page
        if sent is None:  # a server in this process: there is no wire to read
            sent = [
                tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
                for tool in result.tools
            ]
        masked = self._mask.every_text(cast("Json", sent))
        names = {tool.name for tool in result.tools}
        return Page(cast("list[object]", masked), names, result.next_cursor)

    def _target(self) -> _Target:
        if not isinstance(self._server, LocalServer):
            return self._interceptor.around(self._transport(self._server))
        target = self._server.server
        if isinstance(target, SdkServer | MCPServer):
            return cast("SdkServer[Any] | MCPServer[Any]", target)
        raise ToolObjectError(f"A {type(target).__name__} is not a server of the MCP SDK.")

    @asynccontextmanager
    async def _transport(self, server: StdioServer | HttpServer) -> AsyncGenerator[Streams]:
        """Start the server's process, and end it with all that it started; or use its address."""
        if isinstance(server, StdioServer):
            stderr = cast("StandardError", self.stderr)
            async with stdio_client(_process_of(server), errlog=stderr.file) as streams:
                stderr.close()
                yield streams
            return
        client = http_client(dict(server.headers), self.over.set, self._access)
        if server.transport == "sse":  # which opens the client, and closes it
            async with sse_client(
                server.url,
                httpx_client_factory=lambda headers=None, timeout=None, auth=None: client,
                sse_read_timeout=86_400.0,
            ) as streams:
                yield streams
            return
        transport = streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES
        )
        async with client, transport as streams:
            yield streams

    def _written(self, line: str) -> None:
        self._terms.report(ServerSaid(self.name, "stderr", clean(self._mask(line), 500)))

    def _asked(self, method: str) -> None:
        if method != "ping":  # which is answered
            self._terms.report(RequestRefused(self.name, clean(method, 100)))

    async def _logged(self, params: LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else repr(params.data)
        self._terms.report(ServerSaid(self.name, params.level, clean(self._mask(text))))

    async def _received(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.stale()
        elif isinstance(message, Exception):
            what = "It wrote a line that is not a protocol message."
            self._terms.report(ServerSaid(self.name, "warning", what))
