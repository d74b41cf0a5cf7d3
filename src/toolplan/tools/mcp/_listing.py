"""The tools that a server lists: read page by page, bounded, and taken whole as they were sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, cast

from msgspec import Struct

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json, json_type
from toolplan.tools._base import plain_name
from toolplan.tools.mcp._wire import UNSOUND, name_of
from toolplan.tools.mcp.notices import ToolRefused
from toolplan.tools.pins import digest_of

MAX_TOOLS: Final = 2_000
MAX_PAGES: Final = 1_000
MAX_TOOL_BYTES: Final = 256_000
MAX_NAME: Final = 128

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "description": (str,),
    "annotations": (dict,),
    "inputSchema": (dict, str),
    "_meta": (dict,),
}
_LONGEST_SHOWN: Final = 60


class ListingError(Exception):
    """A server's tools cannot be listed; the text says why."""


class Page(NamedTuple):
    """One page: the tools as they came, the names that the SDK lets be called, and the cursor."""

    tools: list[object]
    callable: Collection[str]
    cursor: str | None


class Listed(NamedTuple):
    """A tool as its server sent it: its name in plans, every field of it, and its digest.

    The digest is the SHA-256 (hex) of it in one form, with the identity of the server.
    """

    name: str
    wire: Mapping[str, Json]
    digest: str


class Listing(Struct, frozen=True):
    """The listing of a server: tools by its own names, those refused, and its identity."""

    tools: Mapping[str, Listed]
    refused: tuple[ToolRefused, ...] = ()
    identity: Mapping[str, Json] = {}


async def read_listing(
    server: str,
    identity: Mapping[str, Json],
    read_page: Callable[[str | None], Awaitable[Page]],
    disabled: Collection[str] = (),
) -> Listing:
    """Return all that the server called `server` lists, without the tools that are `disabled`.

    A tool that cannot be used is refused, and the others stay: a name that has no letters, the same
    name twice, an object that is too large or no JSON.

    Raises:
        ListingError: there is no end of pages or of tools.
    """
    listed, callable_names = await _all_pages(read_page)
    sent = [each for each in listed if name_of(each) not in disabled]
    counts = Counter(name_of(each) for each in sent)
    plain = Counter(_plain(name) for name in counts)
    tools: dict[str, Listed] = {}
    refused: dict[str, str] = {}
    for number, each in enumerate(sent, 1):
        name = name_of(each)
        written = _plain(name)
        if not name:
            refused[f"(tool {number})"] = "it has no name"
            continue
        if len(name) > MAX_NAME or not written:
            fault = f"its name has no letter or digit of ASCII, or more than {MAX_NAME} characters"
        elif counts[name] > 1:
            fault = f"{counts[name]} tools have this name"
        elif name not in callable_names:
            fault = "its arguments name headers that cannot be sent"
        elif name != written and (plain[written] > 1 or written in counts):
            fault = f"it would be called {written!r} in plans, and so would another tool"
        else:
            fault = _taken(cast("dict[str, Json]", each), identity)
        if isinstance(fault, Listed):
            tools[name] = fault
        else:
            refused[name] = fault
    names = {name_of(each) for each in listed}
    for name in {*disabled} - names:
        if hint := did_you_mean(near(name, names - {*disabled})):
            refused[name] = f"disabledTools names it, and the server does not. {hint}"
    faults = ((ascii(name[:_LONGEST_SHOWN])[1:-1], fault) for name, fault in refused.items())
    return Listing(tools, tuple(ToolRefused(server, *each) for each in faults), identity)


async def _all_pages(
    read_page: Callable[[str | None], Awaitable[Page]],
) -> tuple[list[object], set[str]]:
    """Return the tools of all pages, and the names that the SDK lets be called."""
    sent: list[object] = []
    callable_names: set[str] = set()
    seen: set[str | None] = set()
    cursor: str | None = None
    while cursor not in seen and len(seen) <= MAX_PAGES:
        seen.add(cursor)
        page = await read_page(cursor)
        sent.extend(page.tools)
        callable_names.update(page.callable)
        if len(sent) > MAX_TOOLS:
            raise ListingError(f"it lists more than {MAX_TOOLS} tools")
        if (cursor := page.cursor) is None:
            return sent, callable_names
    raise ListingError("its list of tools does not end: a page comes again and again")


def _plain(name: str) -> str:
    return name if _NAME.fullmatch(name) else plain_name(name)


def _taken(wire: dict[str, Json], identity: Mapping[str, Json]) -> Listed | str:
    """Return the tool, or why it cannot be taken; its schemas are loaded later."""
    if UNSOUND in wire:
        return f"its description {wire[UNSOUND]}"
    for field, kind in _KINDS.items():
        value = wire.get(field)
        if value is not None and not isinstance(value, kind):
            wanted = "a text" if kind == (str,) else "an object"
            return f"its '{field}' is {json_type(value)}, not {wanted}"
    schema = wire.get("inputSchema")
    kinds = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kinds, str | list) and "object" not in kinds:
        return f"its 'inputSchema' is of the type {kinds!r}, and arguments are an object"
    try:
        text = json.dumps(wire, allow_nan=False)
        if len(text) > MAX_TOOL_BYTES:
            return f"its description takes {len(text)} bytes; {MAX_TOOL_BYTES} is the most"
        return Listed(_plain(name_of(wire)), wire, _digest(text, json.dumps(identity)))
    except (ValueError, RecursionError) as error:  # half a character, too deep …
        return f"its description cannot be put into one form: {type(error).__name__}"


@lru_cache(maxsize=MAX_TOOLS)  # a millisecond each, and servers are listed again and again
def _digest(tool: str, identity: str) -> str:
    return digest_of(json.loads(tool), json.loads(identity))
