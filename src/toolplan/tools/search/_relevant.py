"""The tools for one question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.plan.diagnostics import words
from toolplan.schema import required
from toolplan.schema.tool import Tool, Toolbox
from toolplan.tools.search._index import ToolIndex, index_of
from toolplan.tools.search._terms import stem

FEW: Final = 40
"""The most tools that a model sees all of."""

SMALL_SOURCE: Final = 12
"""The most tools of a source that is taken whole where one of its tools matches."""

_FEW_GIVERS: Final = 5

_ID_WORDS: Final = frozenset(("id", "ids", "uuid", "guid", "key", "slug", "code", "number"))


def relevant(toolbox: Toolbox, question: str, limit: int = FEW) -> Toolbox:
    """Return the tools that are relevant to `question`, at most `limit`, in the toolbox's order.

    It is `toolbox` itself where it has no more than `limit`. Otherwise, in this order as far as
    there is room: tools whose output is computed from their arguments (`sql`); three quarters by
    words; tools that may return what the best of these require; the rest of small sources with a
    tool among the best; other matches; and the first of the rest.
    """
    if len(toolbox) <= limit:
        return toolbox
    index = index_of(toolbox)
    ranked = [found.tool for found in index.search(question, limit)]
    chosen: dict[str, None] = {}

    def choose(tools: Iterator[Tool]) -> None:
        for tool in tools:
            if len(chosen) >= limit:
                return
            chosen.setdefault(tool.name)

    choose(tool for tool in toolbox.values() if tool.compute_output is not None)
    best = ranked[: max(1, limit // 4)]
    choose(iter(ranked[: limit - limit // 4]))
    choose(_givers(index, best))
    choose(_of_small_sources(index, best))
    choose(iter(ranked))
    choose(iter(toolbox.values()))
    return Toolbox(tool for name, tool in toolbox.items() if name in chosen)


def _givers(index: ToolIndex, tools: list[Tool]) -> Iterator[Tool]:
    """Yield tools that may return what `tools` require.

    For `token`, the few tools with a `token` in their declared output; for `facility_id`, tools
    whose name has *facility*, and that do not require the identifier themselves.
    """
    for field in dict.fromkeys(field for tool in tools for field in _required(tool)):
        givers = index.giving.get(field, ())
        yield from givers if len(givers) <= _FEW_GIVERS else ()
    for thing in dict.fromkeys(thing for tool in tools for thing in _things(tool)):
        for tool in index.named.get(thing, ()):
            if not tool.has_effects and thing not in _things(tool):
                yield tool


def _required(tool: Tool) -> tuple[str, ...]:
    return () if tool.unusable is not None else required(tool.input)


def _things(tool: Tool) -> dict[str, None]:
    """Return the things whose identifiers the tool requires: `facility` of `facility_id`."""
    found: dict[str, None] = {}
    for name in _required(tool):
        parts = words(name)
        if len(parts) > 1 and parts[-1] in _ID_WORDS:
            found[stem(parts[-2])] = None
    return found


def _of_small_sources(index: ToolIndex, tools: list[Tool]) -> Iterator[Tool]:
    for source in dict.fromkeys(tool.source for tool in tools if tool.source):
        whole = index.of_source[source]
        yield from whole if len(whole) <= SMALL_SOURCE else ()
