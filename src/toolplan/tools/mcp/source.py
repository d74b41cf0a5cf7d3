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
from mcp.types import RequestParamsMeta

from toolplan.events.traces import context_headers
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, OutcomeUnknown, Tool, Toolbox, ToolObjectError
from toolplan.schema.tool_call import current_call, report_progress, state_label
from toolplan.tools.mcp._link import OnEvent, Terms
from toolplan.tools.mcp._listing import Listing
from toolplan.tools.mcp._oauth import Redirects
from toolplan.tools.mcp._owner import Owner, Target, Unreachable
from toolplan.tools.mcp._wire import clean
from toolplan.tools.mcp.notices import ToolRefused
from toolplan.tools.mcp.results import has_room, unwrapped_schema
from toolplan.tools.mcp.servers import Server
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.pins import SourcedTool

LONGEST_DESCRIPTION: Final = 10_000

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_MOST_ALIASES: Final = 20
_TEXTS: Final = frozenset({"description", "title"})
_VALUES: Final = frozenset({"const", "default", "enum", "example", "examples"})
_CLOSED: Final = "The source of these tools is closed."
_WAITS: Final = "The server {!r} has not answered yet; its tools are missing until it does."
_CLOSING_S: Final = 15.0
_LOGGERS: Final = ("mcp", "client")  # where the SDK logs bad lines, with their text


def tools_of(
    listings: Mapping[str, Listing], call_to: Callable[[Target], Call]
) -> Iterator[SourcedTool]:
    """Yield the tools of all servers, in the order in which they are listed.

    Args:
        listings: the listing of each server, by its name.
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
        listed, doubted = listings[server].tools[name], tool.doubted()
        inner, schema = unwrapped_schema(doubted.raw_output), clean_schema(doubted.raw_input)
        aliases = [listed.name] if own[listed.name] == 1 else []
        if name != listed.name:
            aliases += [f"{server}.{name}", *([name] if spelt[name] == 1 else [])]
        aliases += [a for a in _aliases(name, tool) if others[a] == 1 and not own[a]]
        if isinstance(schema, dict):  # else it is unusable, and the tool says so itself
            schema.pop("x-aliases", None)
            schema |= {"x-aliases": cast("Json", aliases)} if aliases else {}
        roomy = has_room(doubted.raw_output)
        yield SourcedTool(
            name=f"{server}.{listed.name}",
            description=clean(doubted.description, LONGEST_DESCRIPTION),
            raw_input=schema,
            raw_output=clean_schema(doubted.raw_output if inner is None else inner),
            effects=doubted.effects,
            idempotent=doubted.idempotent,
            annotations=doubted.annotations,
            call=call_to(Target(server, name, listed.digest, inner is not None, roomy)),
            source=server,
            wire=listed.wire,
            identity=listings[server].identity,
            remote=True,
            claim=doubted.claim,
        )


def _aliases(name: str, tool: Tool) -> list[str]:
    named = (each for each in tool.aliases[:_MOST_ALIASES] if _PLAIN.fullmatch(each))
    return [each for each in dict.fromkeys(named) if each != name]


def clean_schema(schema: Json) -> Json:
    """Return `schema` with its descriptions and titles cleaned; nothing that is checked changes."""
    match schema:
        case dict():
            return {
                key: clean(value, LONGEST_DESCRIPTION)
                if key in _TEXTS and isinstance(value, str)
                else value
                if key in _VALUES
                else clean_schema(value)
                for key, value in schema.items()
            }
        case list():
            return [clean_schema(each) for each in schema]
        case _:
            return schema


_Result = TypeVar("_Result")


class Closed(Exception):
    """The other loop has ended, and with it everything that ran there."""


async def run_in(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, _Result]]
) -> _Result:
    """Return the result of the coroutine of `make`, run in `loop`; cancelling this cancels it.

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


class Options(TypedDict, total=False):
    """The options of a connection.

    Attributes:
        on_event: called with events of servers while they are used.
        timeout_s: seconds for each call, where the server's entry says nothing; 30 by default.
        start_timeout_s: seconds for a server to start and list its tools; 30 by default.
        recheck_s: seconds after which a server's tools are listed again before a call, so that
            changes that are not reported are noticed; None is never, 60 the default.
        clock: a monotonic clock, in seconds.
        sign_ins: the sign-ins of the user; without them only machines sign in.
        asks: asks a person to sign in where a server wants it; None asks none.
        trusted: servers that are believed when they say that a tool only reads, or destroys
            nothing, or may be called twice. Claims of others can only raise the effects of a tool.
        idle_s: seconds without a call after which a process is stopped until the next one, where
            its entry says nothing; 0, the default, is never.
    """

    on_event: OnEvent | None
    timeout_s: float
    start_timeout_s: float
    recheck_s: float | None
    clock: Callable[[], float]
    sign_ins: SignIns | None
    asks: Redirects | None
    trusted: Collection[str]
    idle_s: float


class McpSource:
    """The tools of connected servers, for as long as `connected` lasts.

    Attributes:
        faults: why servers are missing in the latest toolbox, by their names.
        refused: the tools that servers listed and that are not offered.
        has_news: whether `late_toolbox` has other tools, or why a server failed.
    """

    def __init__(
        self, owners: Mapping[str, Owner], trusted: Collection[str], tasks: TaskGroup
    ) -> None:
        self.faults: Mapping[str, str] = {}
        self.refused: tuple[ToolRefused, ...] = ()
        self._loop = asyncio.get_running_loop()
        self._trusted = frozenset(trusted)
        self._owners = owners
        self._tasks = tasks
        self._listed: dict[str, Listing | str] = {}
        self._starting: set[str] = set()
        self.has_news = False
        self._answered = anyio.Event()

    @property
    def sign_ins_wanted(self) -> tuple[str, ...]:
        """The servers that give nothing before a sign-in."""
        return tuple(name for name, owner in self._owners.items() if owner.wants_sign_in)

    def toolbox(self, grace_s: float | None = None, known: Mapping[str, Listing] = {}) -> Toolbox:
        """Start the servers that do not run yet, and return the tools of all of them.

        A server that cannot be started or asked has no tools: `faults` has the reason. The tools
        stay as they were listed: one that its server changes later is not called any more.

        Args:
            grace_s: seconds after the latest answer of a server in which the others are waited
                for, times the share of servers that are missing; `late_toolbox` has their tools
                later. None: until each has answered or failed.
            known: what servers listed earlier: they are not waited for, and `late_toolbox` has
                their tools where they list others now. No call is made that does not fit them.

        Raises:
            ToolObjectError: none of the servers can be used, or the source is closed.
        """
        try:
            waits_for_itself = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # no loop runs here
            waits_for_itself = False
        if waits_for_itself:
            raise RuntimeError("This would wait for itself: await `tools()` instead.")
        try:
            return self._toolbox(_submitted(self._loop, self._listings(grace_s, known)).result())
        except (Closed, concurrent.futures.CancelledError):
            raise ToolObjectError(_CLOSED) from None

    def late_toolbox(self) -> Toolbox | None:
        """Return the tools again where a late server has answered or failed; None if none has."""
        if not self.has_news:
            return None
        self.has_news = False
        return self._toolbox(dict(self._listed))  # the connections' thread may change it meanwhile

    async def tools(self) -> Toolbox:
        """Return the result of `toolbox` to a coroutine, in any event loop.

        Raises:
            ToolObjectError: none of the servers can be used, or the source is closed.
        """
        try:
            return self._toolbox(await run_in(self._loop, self._listings))
        except Closed:
            raise ToolObjectError(_CLOSED) from None

    def _toolbox(self, found: Mapping[str, Listing | str]) -> Toolbox:
        asked = {name: found.get(name, _WAITS.format(name)) for name in self._owners}
        listings = {name: each for name, each in asked.items() if isinstance(each, Listing)}
        self.faults = {name: each for name, each in asked.items() if isinstance(each, str)}
        if self.faults and not listings:
            why = " ".join(self.faults.values())
            if self.sign_ins_wanted:  # the fault holds the command
                help_ = "Sign in with the command above, then run this again."
                raise ToolObjectError(why, help_, "sign-in-needed")
            raise ToolObjectError(why)
        made = tools_of(listings, self._call_to)
        tools = Toolbox(t.believed() if t.source in self._trusted else t for t in made)
        self.refused = (
            *(each for listing in listings.values() for each in listing.refused),
            *(
                ToolRefused(tool.source, tool.name.removeprefix(f"{tool.source}."), tool.unusable)
                for tool in tools.values()
                if tool.unusable is not None
            ),
        )
        return tools

    async def _listings(
        self, grace_s: float | None = None, known: Mapping[str, Listing] = {}
    ) -> Mapping[str, Listing | str]:
        self._listed |= known
        for name in self._owners.keys() - self._starting:
            try:
                self._tasks.start_soon(self._ask, name)
            except RuntimeError:  # the block of `connected_here` has ended, and its loop runs on
                raise Closed from None
            self._starting.add(name)
        while unknown := self._starting - known.keys():
            # without an answer there are no tools: the first is waited for as long as it takes
            # and the fewer servers are missing, the less they delay the others
            missing = len(unknown) / len(self._owners)
            waits = not any(isinstance(each, Listing) for each in self._listed.values())
            wait_s = None if grace_s is None or waits else grace_s * missing
            with anyio.move_on_after(wait_s) as waiting:
                await self._answered.wait()
            if waiting.cancelled_caught:
                break
        self.has_news = False
        return dict(self._listed)

    async def _ask(self, name: str) -> None:
        found: Listing | str
        try:
            found = await self._owners[name].listing()
        except Unreachable as error:
            found = str(error)
        self._starting.discard(name)
        match self._listed.get(name), found:
            case Listing(tools=before), Listing(tools=now, refused=()) if before == now:
                pass
            case _:
                self._listed[name], self.has_news = found, True
        answered, self._answered = self._answered, anyio.Event()
        answered.set()

    def _call_to(self, target: Target) -> Call:
        owner = self._owners[target.server]

        async def call(arguments: Arguments) -> Json:
            identity, progress = current_call(), None
            meta: dict[str, object] = {**context_headers()}
            if identity is not None:
                # the connection's thread knows nothing of the run; the caller's context does
                progress = partial(contextvars.copy_context().run, report_progress)
                if identity.key:
                    meta["toolplan/idempotency-key"] = identity.key
            sent = cast("RequestParamsMeta | None", meta or None)
            calling = partial(owner.call, target, arguments, progress, sent)
            try:
                result = await run_in(self._loop, calling)
            except Closed:
                raise OutcomeUnknown(
                    f"The call on the server {target.server!r} was given up: the source of its"
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
            yield McpSource(owners, terms.trusted, tasks)
        except BaseException as error:  # kept out of the group, which would wrap it
            raised = error
        for owner in owners.values():
            owner.close()
        tasks.cancel_scope.deadline = anyio.current_time() + _CLOSING_S
    if raised is not None:
        raise raised
