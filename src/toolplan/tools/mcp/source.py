"""Tools of MCP servers: opened by any code, called from any event loop.

All connections live in one event loop of a thread of its own. A tool's call crosses into it, and a
cancellation crosses with it. A portal of anyio would block the caller's loop until it is taken.

A tool is called `server.tool`, and by its plain name where it is the only one. Its other names come
from its server, which is not trusted: one that another server's tool has or would have is out.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import re
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, TypedDict, TypeVar, Unpack, cast

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal
from msgspec.structs import replace

from toolplan.events.traces import context_headers
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, OutcomeUnknown, Tool, Toolbox, ToolObjectError
from toolplan.schema.tool_call import current_call, report_progress, state_label
from toolplan.tools.mcp._link import OnEvent, Terms
from toolplan.tools.mcp._listing import Listing
from toolplan.tools.mcp._oauth import Redirects
from toolplan.tools.mcp._owner import Owner, Request, Unreachable
from toolplan.tools.mcp._results import has_room, unwrapped_schema
from toolplan.tools.mcp._texts import LONGEST_DESCRIPTION, clean, clean_schema
from toolplan.tools.mcp.notices import ToolRefused
from toolplan.tools.mcp.servers import Server
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.pins import SourcedTool

SEPARATOR: Final = "."
ALIASES: Final = "x-aliases"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_MOST_ALIASES: Final = 20


def tools_of(
    listings: Mapping[str, Listing], call_to: Callable[[Request], Call]
) -> Iterator[SourcedTool]:
    """Yield the tools of all servers, in the order in which they are listed.

    Args:
        listings: what each server lists, by its name.
        call_to: gives the function that calls a tool.
    """
    sent = {
        (server, name): Tool.from_json(dict(listed.wire))
        for server, listing in listings.items()
        for name, listed in listing.tools.items()
    }
    # a tool's own name comes before what another would be called
    own = Counter(each.name for listing in listings.values() for each in listing.tools.values())
    others = Counter(alias for (_, name), tool in sent.items() for alias in _aliases(name, tool))
    spelt = Counter(name for _, name in sent)
    for (server, name), tool in sent.items():
        listing, doubted = listings[server], tool.doubted()
        listed = listing.tools[name]
        inner = unwrapped_schema(doubted.raw_output)
        roomy = has_room(doubted.raw_output)
        aliases = [listed.name] if own[listed.name] == 1 else []
        if name != listed.name:
            aliases += [f"{server}{SEPARATOR}{name}", *([name] if spelt[name] == 1 else [])]
        aliases += [a for a in _aliases(name, tool) if others[a] == 1 and not own[a]]
        yield SourcedTool(
            name=f"{server}{SEPARATOR}{listed.name}",
            description=clean(doubted.description, LONGEST_DESCRIPTION),
            raw_input=_with_aliases(clean_schema(doubted.raw_input), aliases),
            raw_output=clean_schema(doubted.raw_output if inner is None else inner),
            effects=doubted.effects,
            idempotent=doubted.idempotent,
            annotations=doubted.annotations,
            call=call_to(Request(server, name, listed.digest, inner is not None, roomy)),
            source=server,
            wire=listed.wire,
            identity=listing.identity,
            remote=True,
            claim=doubted.claim,
        )


def _aliases(name: str, tool: Tool) -> list[str]:
    named = [each for each in tool.aliases[:_MOST_ALIASES] if _PLAIN.fullmatch(each)]
    return [each for each in dict.fromkeys(named) if each != name]


def _with_aliases(schema: Json, aliases: list[str]) -> Json:
    if not isinstance(schema, dict):
        return schema  # unusable, and the tool says so itself
    rest = {key: value for key, value in schema.items() if key != ALIASES}
    return {**rest, ALIASES: cast("Json", aliases)} if aliases else rest


_Result = TypeVar("_Result")


class Closed(Exception):
    """The other loop has ended, and with it everything that ran there."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs here; None where none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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
        return await asyncio.wrap_future(_submitted(loop, make()))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Closed from None  # the caller was not cancelled, but the loop ended


def _submitted(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _Result]
) -> concurrent.futures.Future[_Result]:
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:  # the loop is closed
        coroutine.close()
        raise Closed from None


_CLOSED: Final = "The source of these tools is closed."
_WAITS: Final = "The server {!r} has not answered yet; its tools are missing until it does."
_CLOSING_S: Final = 15.0
_LOGGERS: Final = ("mcp", "client")  # where the SDK logs bad lines, with their text


class Options(TypedDict, total=False):
    """The options of a connection.

    Attributes:
        on_event: called with what happens to servers while they are used.
        timeout_s: seconds for each call, where the server's entry says nothing; 30 by default.
        start_timeout_s: seconds for a server to start and list its tools; 30 by default.
        recheck_s: seconds after which a server's tools are listed again before a call, so that
            changes that are not reported are noticed; None is never, 60 the default.
        clock: a monotonic clock, in seconds.
        sign_ins: the sign-ins of the user; without them only machines sign in.
        asks: asks a person to sign in where a server wants it; None asks none.
        trusted: servers that are believed when they say that a tool only reads, or destroys
            nothing, or may be called twice. What others say can only raise what a tool may change.
    """

    on_event: OnEvent | None
    timeout_s: float
    start_timeout_s: float
    recheck_s: float | None
    clock: Callable[[], float]
    sign_ins: SignIns | None
    asks: Redirects | None
    trusted: Collection[str]


class SignInNeeded(ToolObjectError):
    """No tools can be used before somebody signs in; the message holds the command."""

    def __init__(self, message: str, help: str | None = None) -> None:
        help = help or "Sign in with the command above, then run this again."
        super().__init__(message, help, "sign-in-needed")


class McpSource:
    """The tools of connected servers, for as long as `connected` lasts."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        owners: Mapping[str, Owner],
        trusted: Collection[str],
        tasks: TaskGroup,
    ) -> None:
        self._loop = loop
        self._trusted = frozenset(trusted)
        self._owners = owners
        self._tasks = tasks
        self._listed: dict[str, Listing] = {}
        self._faults: dict[str, str] = {}
        self._starting: set[str] = set()
        self._has_news = False
        self._answered = anyio.Event()
        self._missing: Mapping[str, str] = {}
        self._refused: tuple[ToolRefused, ...] = ()

    @property
    def faults(self) -> Mapping[str, str]:
        """Why servers are missing in the latest toolbox, by their names."""
        return self._missing

    @property
    def sign_ins_wanted(self) -> tuple[str, ...]:
        """The servers that give nothing before somebody signs in to them."""
        return tuple(name for name, owner in self._owners.items() if owner.wants_sign_in)

    @property
    def refused(self) -> tuple[ToolRefused, ...]:
        """The tools that servers listed and that are not offered."""
        return self._refused

    def toolbox(self, grace_s: float | None = None) -> Toolbox:
        """Start the servers that do not run yet, and return the tools of all of them.

        A server that cannot be started or asked is left out: `faults` says why. The tools hold
        what they were listed as: one that its server changes later is not called any more.

        Args:
            grace_s: seconds after the latest answer of a server in which the others are waited
                for, times the share of servers that are missing; `late_toolbox` has their tools
                later. None: until each has answered or failed.

        Raises:
            ToolObjectError: none of the servers can be used, or the source is closed.
        """
        if _running_loop() is self._loop:
            raise RuntimeError("This would wait for itself: await `tools()` instead.")
        try:
            return self._toolbox(_submitted(self._loop, self._listings(grace_s)).result())
        except (Closed, concurrent.futures.CancelledError):
            raise ToolObjectError(_CLOSED) from None

    def late_toolbox(self) -> Toolbox | None:
        """Return the tools again where a late server has answered or failed; None if none has."""
        if not self._has_news:
            return None
        self._has_news = False
        return self._toolbox(self._in_order())

    async def tools(self) -> Toolbox:
        """Return what `toolbox` gives, to a coroutine, in whatever event loop.

        Raises:
            ToolObjectError: none of the servers can be used, or the source is closed.
        """
        try:
            return self._toolbox(await run_in(self._loop, self._listings))
        except Closed:
            raise ToolObjectError(_CLOSED) from None

    def _in_order(self) -> dict[str, Listing]:
        listed = dict(self._listed)  # the connections' thread may change it meanwhile
        return {name: listed[name] for name in self._owners if name in listed}

    def _toolbox(self, listings: Mapping[str, Listing]) -> Toolbox:
        self._missing = {
            name: self._faults.get(name, _WAITS.format(name))
            for name in self._owners
            if name not in listings
        }
        if self._missing and not listings:
            why = " ".join(self._missing.values())
            raise (SignInNeeded if self.sign_ins_wanted else ToolObjectError)(why)
        found = tools_of(listings, self._call_to)
        tools = Toolbox(t.believed() if t.source in self._trusted else t for t in found)
        self._refused = (
            *(each for listing in listings.values() for each in listing.refused),
            *(
                ToolRefused(tool.source, tool.name.removeprefix(f"{tool.source}."), tool.unusable)
                for tool in tools.values()
                if tool.unusable is not None
            ),
        )
        return tools

    async def _listings(self, grace_s: float | None = None) -> dict[str, Listing]:
        for name in self._owners.keys() - self._starting:
            self._starting.add(name)
            self._tasks.start_soon(self._ask, name)
        while self._starting:
            # without an answer there are no tools: the first is waited for as long as it takes
            # and the fewer servers are missing, the less they delay the others
            missing = len(self._starting) / len(self._owners)
            wait_s = None if grace_s is None or not self._listed else grace_s * missing
            with anyio.move_on_after(wait_s) as waiting:
                await self._answered.wait()
            if waiting.cancelled_caught:
                break
        self._has_news = False
        return self._in_order()

    async def _ask(self, name: str) -> None:
        try:
            self._listed[name] = await self._owners[name].listing()
            self._faults.pop(name, None)
        except Unreachable as error:
            self._faults[name] = str(error)
            self._listed.pop(name, None)
        self._starting.discard(name)
        self._has_news = True
        answered, self._answered = self._answered, anyio.Event()
        answered.set()

    def _call_to(self, listed: Request) -> Call:
        owner = self._owners[listed.server]

        async def call(arguments: Arguments) -> Json:
            identity = current_call()
            progress = None
            if identity is not None:
                # the connection's thread knows nothing of the run; the caller's context does
                progress = partial(contextvars.copy_context().run, report_progress)
            key = "" if identity is None else identity.key
            request = replace(
                listed, arguments=arguments, progress=progress, key=key, trace=context_headers()
            )
            try:
                result = await run_in(self._loop, partial(owner.call, request))
            except Closed:
                raise OutcomeUnknown(
                    f"The call on the server {listed.server!r} was given up: the source of its"
                    " tools is closed."
                ) from None
            if result.stated is not None:
                state_label(untrusted=result.stated.is_untrusted, secret=result.stated.is_secret)
            return result.value

        return call


@contextmanager
def connected(
    servers: Mapping[str, Server], **options: Unpack[Options]
) -> Generator[McpSource, None, None]:
    """Yield a source of the tools of `servers`, and end them all for sure behind it.

    Nothing is started before `toolbox` is asked for. The connections live in a thread of their
    own, so that their tools can be called from any event loop, and from one after the other.

    Args:
        servers: by the names that their tools get.
        **options: see `Options`.
    """
    with (
        start_blocking_portal(name="toolplan-mcp") as portal,
        portal.wrap_async_context_manager(connected_here(servers, **options)) as source,
    ):
        yield source


@asynccontextmanager
async def connected_here(
    servers: Mapping[str, Server], **options: Unpack[Options]
) -> AsyncGenerator[McpSource, None]:
    """Yield a source whose connections live in the event loop that runs; as `connected` otherwise.

    Calls from this loop need no way into another thread. The task that entered it must exit it,
    and a loop that is blocked blocks the connections.
    """
    terms = Terms(**options)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    owners = {name: Owner(name, server, terms) for name, server in servers.items()}
    raised: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        for owner in owners.values():
            tasks.start_soon(owner.run)
        try:
            yield McpSource(asyncio.get_running_loop(), owners, terms.trusted, tasks)
        except BaseException as error:  # kept out of the group, which would wrap it
            raised = error
        for owner in owners.values():
            owner.close()
        tasks.cancel_scope.deadline = anyio.current_time() + _CLOSING_S
    if raised is not None:
        raise raised
