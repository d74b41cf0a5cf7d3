"""What servers offer, made into tools: `server.tool`, and the plain name where it is the only one.

The other names of a tool come from its server, which is not trusted: a name that another server's
tool has, or would have, is not given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from toolplan.path import Json
from toolplan.sources.mcp._owner import Offer
from toolplan.sources.mcp._results import has_room, unwrapped_schema
from toolplan.sources.mcp._texts import LONGEST_DESCRIPTION, clean, clean_schema
from toolplan.sources.pins import SourcedTool
from toolplan.tools import Call, Tool

SEPARATOR: Final = "."
ALIASES: Final = "x-aliases"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_MOST_ALIASES: Final = 20


class Target(Struct, frozen=True):
    """What a tool of the toolbox calls: a tool of a server, as it was listed."""

    server: str
    name: str
    digest: str
    wrapped: bool
    roomy: bool


def tools_of(
    offers: Mapping[str, Offer], call_to: Callable[[Target], Call]
) -> Iterator[SourcedTool]:
    """Yield the tools of all servers, in the order in which they are listed.

    Args:
        offers: what each server offers, by its name.
        call_to: gives the function that calls a tool.
    """
    own, others = _claims(offers)
    spelt = Counter(name for offer in offers.values() for name in offer.listing.tools)
    for server, offer in offers.items():
        for name, listed in offer.listing.tools.items():
            sent = Tool.from_json(dict(listed.wire)).doubted()
            inner = unwrapped_schema(sent.raw_output)
            aliases = [listed.name] if own[listed.name] == 1 else []
            if name != listed.name:
                aliases += [f"{server}{SEPARATOR}{name}", *([name] if spelt[name] == 1 else [])]
            aliases += [a for a in _aliases(name, sent) if others[a] == 1 and not own[a]]
            yield SourcedTool(
                name=f"{server}{SEPARATOR}{listed.name}",
                description=clean(sent.description, LONGEST_DESCRIPTION),
                raw_input=_with_aliases(clean_schema(sent.raw_input), aliases),
                raw_output=clean_schema(sent.raw_output if inner is None else inner),
                effects=sent.effects,
                idempotent=sent.idempotent,
                annotations=sent.annotations,
                call=call_to(
                    Target(
                        server, name, listed.digest, inner is not None, has_room(sent.raw_output)
                    )
                ),
                source=server,
                wire=listed.wire,
                identity=offer.identity,
                remote=True,
                claim=sent.claim,
            )


def _claims(offers: Mapping[str, Offer]) -> tuple[Counter[str], Counter[str]]:
    """Count how many tools have a plain name, and how many would be called so besides.

    A tool's own name comes before what another would be called.
    """
    own = Counter(t.name for offer in offers.values() for t in offer.listing.tools.values())
    others = Counter(
        alias
        for offer in offers.values()
        for name, listed in offer.listing.tools.items()
        for alias in _aliases(name, Tool.from_json(dict(listed.wire)))
    )
    return own, others


def _aliases(name: str, tool: Tool) -> list[str]:
    named = [each for each in tool.aliases[:_MOST_ALIASES] if _PLAIN.fullmatch(each)]
    return [each for each in dict.fromkeys(named) if each != name]


def _with_aliases(schema: Json, aliases: list[str]) -> Json:
    if not isinstance(schema, dict):
        return schema  # unusable, and the tool says so itself
    rest = {key: value for key, value in schema.items() if key != ALIASES}
    return {**rest, ALIASES: cast("Json", aliases)} if aliases else rest
