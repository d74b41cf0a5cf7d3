"""The owner of one server: the one task that starts it, holds its connection, and ends it.

The SDK wants a connection to be left by the task that entered it. So calls are made by tasks of
their own, over a connection that the owner holds open, and a server that dies takes nothing with it
but the calls on it.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import anyio
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, InputRequiredResult, RequestParamsMeta
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.schema.tool import OutcomeUnknown, ToolError
from toolplan.tools.mcp._http import NO_ACCESS
from toolplan.tools.mcp._link import Called, Link, Progress, Terms
from toolplan.tools.mcp._listing import Listing, ListingError
from toolplan.tools.mcp._oauth import Access, access_to
from toolplan.tools.mcp._wire import DELIVERY, Delivery, clean, reason_of, words_of
from toolplan.tools.mcp.notices import ServerLost, ToolRefused
from toolplan.tools.mcp.results import Result, result_of
from toolplan.tools.mcp.servers import HttpServer, LocalServer, Server, StdioServer
from toolplan.tools.secrets import Mask

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0

_ENDINGS: Final[Mapping[type, str]] = {
    StdioServer: "its process ended, or closed its output",
    HttpServer: "the session ended",
    LocalServer: "it ended",
}
_STDERR_WAIT_S: Final = 0.3
_TRIES_OF_WHAT_WAS_NOT_SENT: Final = 3


class Target(NamedTuple):
    """A tool as it was when the plan was checked.

    Attributes:
        server: the name of the server.
        name: the server's name of the tool.
        digest: of the tool.
        wrapped: results are wrapped in an object.
        roomy: results may have a property that the tool's output schema does not name.
    """

    server: str
    name: str
    digest: str
    wrapped: bool
    roomy: bool


class Unreachable(ToolError):
    """A server cannot be started or reached; nothing was sent."""


class Owner:
    """Holds the connection to one server. Everything here runs in one event loop."""

    def __init__(self, name: str, server: Server, terms: Terms) -> None:
        self.name = name
        self._server = server
        self._terms = terms
        self._report = terms.report
        self._mask = Mask(() if isinstance(server, LocalServer) else server.secrets)
        self._access: Access | None = None
        if isinstance(server, HttpServer):
            self._access = access_to(name, server, self._mask, terms.sign_ins, terms.asks)
        self._timeout_s = terms.timeout_s if server.timeout_s is None else server.timeout_s
        is_process = isinstance(server, StdioServer)
        idle_s = server.idle_s if is_process and server.idle_s is not None else terms.idle_s
        self._idle_s = idle_s if is_process and idle_s else math.inf
        self._calls, self._used_at = 0, 0.0
        self._wanted = anyio.Event()
        self._closing = anyio.Event()
        self._start: asyncio.Future[Link | str] = asyncio.get_running_loop().create_future()
        self._link: Link | None = None
        self._scope: anyio.CancelScope | None = None
        self._starts = 0
        self._failures = 0
        self._refused_reported: set[ToolRefused] = set()

    @property
    def wants_sign_in(self) -> bool:
        """Whether the server was refused for want of a sign-in."""
        return self._access is not None and self._access.wants_sign_in

    async def run(self) -> None:
        """Start the server whenever it is wanted and not there, until `close`."""
        while not self._closing.is_set():
            await self._wanted.wait()
            if not self._closing.is_set():
                await self._hold()
        self._settle("the source of its tools is closed")

    def close(self) -> None:
        """Have the connection ended; `run` comes back when it is, and the process is gone."""
        self._closing.set()
        self._wanted.set()
        if self._link is not None:
            self._link.over.set()
        elif self._scope is not None:
            self._scope.cancel()

    async def listing(self) -> Listing:
        """Return the current listing of the server."""
        link = await self._linked()
        try:
            with anyio.fail_after(self._terms.start_timeout_s):
                listing = await link.listing()
        except Exception as error:  # any error that the SDK lets through
            raise Unreachable(self._sentence(reason_of(error))) from error
        for refused in listing.refused:
            if refused not in self._refused_reported:
                self._refused_reported.add(refused)
                self._report(refused)
        return listing

    async def call(
        self,
        target: Target,
        arguments: Mapping[str, Json],
        progress: Progress | None,
        meta: RequestParamsMeta | None,
    ) -> Result:
        """Make one call, and return its result.

        A request that may have reached the server is never sent again. `progress` is called with
        the call's progress; `meta` has its trace headers and its idempotency key.

        Raises:
            OutcomeUnknown: it was sent, and no answer came.
            ToolError: it failed, or was not made.
        """
        delivery = Delivery()
        DELIVERY.set(delivery)
        self._calls += 1
        try:
            async with asyncio.timeout(self._timeout_s):  # half the cost of a scope of anyio
                called = await self._called(
                    target, delivery, lambda link: link.call(target.name, arguments, progress, meta)
                )
        except TimeoutError:
            raise self._failure(f"no answer came within {self._timeout_s:g} s", delivery) from None
        finally:
            self._calls, self._used_at = self._calls - 1, anyio.current_time()
        if isinstance(called, InputRequiredResult):
            asked = ", ".join(sorted({r.method for r in (called.input_requests or {}).values()}))
            raise ToolError(
                f"The tool asks for more while it runs ({asked or 'nothing named'}), which a plan"
                " cannot give; pass it as arguments, or use another tool."
            )
        try:
            found = result_of(called, wrapped=target.wrapped, roomy=target.roomy)
            if found.left_out and progress is not None:
                progress(1.0, None, found.left_out)
            if self._access is None:
                return found
            # a token is long and random: nothing else reads like it
            return found._replace(value=self._access.mask_tokens.every_text(found.value))
        except ToolError as error:
            raise ToolError(self._mask(str(error))) from None

    async def _called(
        self, target: Target, delivery: Delivery, send: Callable[[Link], Awaitable[Called]]
    ) -> Called:
        for _ in range(_TRIES_OF_WHAT_WAS_NOT_SENT):
            link = await self._linked()
            await self._verify(link, target)
            delivery.begun = isinstance(self._server, LocalServer)
            try:
                return await send(link)
            except MCPError as error:
                if error.code == NO_ACCESS:
                    raise Unreachable(self._sentence(reason_of(error))) from error
                if not self._is_loss(error, link, delivery):
                    raise ToolError(self._mask(clean(error.message))) from error
                if delivery.begun or not link.over.is_set():
                    raise self._failure(reason_of(error), delivery) from error
            except Exception as error:  # any error that the SDK lets through
                if delivery.answer is None:
                    raise self._failure(reason_of(error), delivery) from error
                what = "The tool was called, and its answer is not valid in the protocol"
                words = words_of(json.dumps(delivery.answer))
                raise ToolError(self._mask(f"{what} ({reason_of(error)}): {words}")) from error
        raise self._failure("it ends whenever it is called", delivery)

    async def _verify(self, link: Link, target: Target) -> None:
        """See that the tool is still the one that the plan was checked with."""
        try:
            listing = link.known or await link.listing()
        except (MCPError, ListingError) as error:
            raise Unreachable(self._sentence(reason_of(error))) from error
        now = listing.tools.get(target.name)
        if now is None or now.digest != target.digest:
            what = "is not there any more" if now is None else "is not as it was"
            raise ToolError(
                f"The tool {target.name!r} of the server {self.name!r} was not called: it {what}"
                " since the plan was checked; look at the tools, and plan again."
            )

    async def _linked(self) -> Link:
        """Return a connection that stands, started where there is none."""
        while (link := self._link) is None or link.over.is_set():
            self._wanted.set()
            started = await asyncio.shield(self._start)
            if isinstance(started, str):
                raise Unreachable(self._sentence(started))
            if not started.over.is_set():
                return started
        return link

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self._failures, 10), LONGEST_PAUSE_S)

    async def _hold(self) -> None:
        """Start the server and hold the connection until it is over."""
        if self._starts or self._failures:
            with anyio.move_on_after(self._pause_s()):
                await self._closing.wait()
                return
        link = Link(self.name, self._server, self._mask, self._terms, self._access)
        stderr, starts = link.stderr, self._starts
        fault: str | None = None
        try:
            fault = await self._held(link)
        except Exception as error:  # of any kind; the calls that wait get the reason
            fault = reason_of(error)
        finally:
            if stderr is not None:
                stderr.close()
            self._link, self._scope = None, None
        if self._closing.is_set() or fault is None:
            return
        if stderr is not None:
            last = await anyio.to_thread.run_sync(stderr.ending, _STDERR_WAIT_S)
            fault = f"{fault.rstrip('.')}; it wrote: {clean(last)}" if last else fault
        fault = self._mask(fault)
        has_stood = self._starts > starts
        self._failures = 0 if has_stood else self._failures + 1
        self._report(ServerLost(self.name, fault, self._pause_s()))
        if not has_stood:  # calls that have come since one stood wait for the next start
            self._settle(fault)

    async def _held(self, link: Link) -> str | None:
        """Hold a connection; return why it ended, or None if it was idle for long."""
        limit_s = self._terms.start_timeout_s
        with anyio.CancelScope(deadline=anyio.current_time() + limit_s) as self._scope:
            scope = self._scope
            async with link.opened():
                scope.deadline = math.inf
                self._link = link
                self._starts += 1
                self._report(replace(link.started, starts=self._starts))
                self._settle(link)
                self._used_at, left_s = anyio.current_time(), self._idle_s
                while left_s > 0 and not (self._closing.is_set() or link.over.is_set()):
                    with anyio.move_on_after(left_s):
                        await link.over.wait()
                    unused_s = 0 if self._calls else anyio.current_time() - self._used_at
                    left_s = self._idle_s - unused_s
                self._link, is_lost = None, link.over.is_set()
            return _ENDINGS[type(self._server)] if is_lost else None
        return f"it did not start within {limit_s:g} s"

    def _settle(self, started: Link | str) -> None:
        """Give a connection, or why there is none, to the calls that wait for a start."""
        self._wanted = anyio.Event()
        self._start.set_result(started)
        self._start = asyncio.get_running_loop().create_future()

    def _is_loss(self, error: MCPError, link: Link, delivery: Delivery) -> bool:
        """Return whether `error` means that no answer came, rather than being the answer.

        The code of a lost connection is one that servers use for errors of their own, too. Of a
        process it is known whether it is there; over HTTP it counts as a loss.
        """
        if error.code == REQUEST_TIMEOUT:
            return True
        if error.code != CONNECTION_CLOSED:
            return False
        if isinstance(self._server, HttpServer):
            link.stale()  # it may be another server by now
            return True
        if not delivery.begun:
            link.over.set()
        return link.over.is_set()

    def _failure(self, why: str, delivery: Delivery) -> ToolError:
        kind, what = Unreachable, "the call was not sent"
        if delivery.begun:
            kind, what = OutcomeUnknown, "the call was sent, and its outcome is unknown"
        return kind(self._sentence(f"{why.rstrip('.')}; {what}"))

    def _sentence(self, why: str) -> str:
        return f"The server {self.name!r} failed: {self._mask(why).rstrip('.')}."
