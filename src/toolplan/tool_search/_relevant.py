"""The tools that a planner is shown for one question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.names import words
from toolplan.schema import required
from toolplan.tool_search._index import index_of
from toolplan.tool_search._terms import stem
from toolplan.tools import Tool, Toolbox

FEW: Final = 40
"""Up to so many tools a planner is shown all of them: choosing among them is its own work."""

SMALL_SOURCE: Final = 12
"""A source with no more tools than this is shown whole, if one of its tools fits."""

_ID_WORDS: Final = frozenset(("id", "ids", "uuid", "guid", "key", "slug", "code", "number"))


def relevant(toolbox: Toolbox, question: str, limit: int = FEW) -> Toolbox:
    """Give the tools that may be of use for `question`, at most `limit`, in the toolbox's order.

    All of them, `toolbox` itself, where they are no more than `limit`. Else, in this order as far
    as there is room: tools that compute what they give from their arguments (`sql`), as no question
    names them; the better half by words; those that may give the identifiers which these require;
    the rest of sources that are small and have a tool among them; and what else fits by words.
    """
    if len(toolbox) <= limit:
        return toolbox
    ranked = [found.tool for found in index_of(toolbox).search(question, limit)]
    if not ranked:  # no word in common: the catalogue's beginning is as good as anything
        ranked = list(toolbox.values())[:limit]
    chosen: dict[str, None] = {}

    def choose(tools: Iterator[Tool]) -> None:
        for tool in tools:
            if len(chosen) >= limit:
                return
            chosen.setdefault(tool.name)

    choose(tool for tool in toolbox.values() if tool.compute_output is not None)
    best = ranked[: max(1, limit // 2)]
    choose(iter(best))
    choose(_givers(toolbox, best))
    choose(_of_small_sources(toolbox, best))
    choose(iter(ranked))
    return Toolbox(tool for name, tool in toolbox.items() if name in chosen)


def _givers(toolbox: Toolbox, tools: list[Tool]) -> Iterator[Tool]:
    """Yield tools that are about the things whose identifiers `tools` require.

    `facility_id` is given by a tool whose name speaks of facilities, one that lists or searches
    and does not itself require the identifier first.
    """
    wanted = dict.fromkeys(thing for tool in tools for thing in _things(tool))
    if not wanted:
        return
    names = {name: {stem(word) for word in words(name)} for name in toolbox}
    for thing in wanted:
        fitting = [toolbox[name] for name, about in names.items() if thing in about]
        yield from (tool for tool in fitting if not tool.has_effects and thing not in _things(tool))


def _things(tool: Tool) -> dict[str, None]:
    """Give the things whose identifiers the tool requires: `facility` of `facility_id`."""
    if tool.unusable is not None:
        return {}
    found: dict[str, None] = {}
    for name in required(tool.input):
        parts = words(name)
        if len(parts) > 1 and parts[-1] in _ID_WORDS:
            found[stem(parts[-2])] = None
    return found


def _of_small_sources(toolbox: Toolbox, tools: list[Tool]) -> Iterator[Tool]:
    by_source: dict[str, list[Tool]] = {}
    for tool in toolbox.values():
        by_source.setdefault(tool.source, []).append(tool)
    for source in dict.fromkeys(tool.source for tool in tools if tool.source):
        yield from _small(by_source, source)


def _small(by_source: Mapping[str, list[Tool]], source: str) -> list[Tool]:
    tools = by_source[source]
    return tools if len(tools) <= SMALL_SOURCE else []
