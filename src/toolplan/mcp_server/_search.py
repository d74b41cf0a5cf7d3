"""Tools as text for a model: signatures, with a bounded size."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from toolplan.planners.llm import argument_lines, signatures_text
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan.show.printable import cut, printable, visible
from toolplan.tools.search import search_tools

MOST_FOUND: Final = 10
"""The most tools of one answer."""

MOST_TEXT: Final = 6_000
"""The most characters of one answer that has more than one tool; `detail` has twice as many."""

_MOST_NAMES: Final = 60
_MOST_NAME: Final = 64
_MOST_SAID: Final = 240
_MOST_FAULTS: Final = 8
_MOST_FAULT: Final = 300


def found_text(toolbox: Toolbox, query: str, faults: Sequence[str], *, detail: bool) -> str:
    """Return the tools that match `query`, the best first, and what cannot be used.

    Names of tools give just these. Where there is no query: the sources, and how many tools each
    has. What a provider wrote is in quotes.
    """
    names = [toolbox.alias(name) or name for name in re.split(r"[,\s]+", query.strip()) if name]
    if not names:
        text = _sources(toolbox)
    else:
        named = [toolbox[name] for name in names if name in toolbox]
        if len(named) < len(names):
            named = [each.tool for each in search_tools(toolbox, query, len(toolbox))]
        text = _listed(named, detail=detail)
    return f"{text}{left_out(faults, _MOST_FAULTS, _MOST_FAULT)}"


def left_out(faults: Sequence[str], most: int = 2, longest: int = 100) -> str:
    """Return what cannot be used: its tools would be missing without a word."""
    shown = [json.dumps(cut(printable(each), longest)) for each in faults[:most]]
    more = f" and {len(faults) - len(shown)} more" if len(faults) > len(shown) else ""
    return f"\nNot available (tell the user): {', '.join(shown)}{more}." if shown else ""


def sources_line(toolbox: Toolbox, most: int) -> str:
    """Return the sources with the numbers of their tools, the largest first."""
    counts = Counter(tool.source or "here" for tool in toolbox.values()).most_common()
    shown = [f"{cut(printable(name), _MOST_NAME)} ({count})" for name, count in counts[:most]]
    more = f" and {len(counts) - most} more" if len(counts) > most else ""
    return f"{len(toolbox)} tools: {', '.join(shown)}{more}."


def _sources(toolbox: Toolbox) -> str:
    return f"{sources_line(toolbox, _MOST_NAMES)}\n{_names(list(toolbox.values()))}"


def _listed(found: Sequence[Tool], *, detail: bool) -> str:
    """Return as many of `found` as fit, and the names of others."""
    if not found:
        return "No tool matches. Use other words; without words you get the servers and names."
    most, count = MOST_TEXT * (1 + detail), min(len(found), MOST_FOUND)
    while len(text := _described(found[:count], detail=detail)) > most and count > 1:
        count -= 1
    return "\n".join(filter(None, (text, _names(found[count:]))))


def _described(tools: Sequence[Tool], *, detail: bool) -> str:
    types, signatures = signatures_text(tools)
    about = argument_lines(tools)
    lines = [f"{name} = {text}" for name, text in types.items()]
    for tool in tools:
        changes = "" if tool.effects is Effects.READ else f"  [{tool.effects.value}]"
        lines.append(f"{signatures[tool.name]}{changes}")
        if tool.unusable is not None:
            lines.append(f"  cannot be used: {json.dumps(tool.unusable)}")
        if tool.description:
            said = cut(printable(tool.description), _MOST_SAID * (1 + 9 * detail))
            lines.append(f"  {json.dumps(said, ensure_ascii=False)}")
        lines += [f"  {line}" for line in about[tool.name]]
        if detail:
            lines.append(f"  input {json.dumps(tool.raw_input, ensure_ascii=False)}")
            lines.append(f"  output {json.dumps(tool.raw_output, ensure_ascii=False)}")
    return "\n".join(map(visible, lines))


def _names(tools: Sequence[Tool]) -> str:
    names = [cut(printable(tool.name), _MOST_NAME) for tool in tools[:_MOST_NAMES]]
    more = f" and {len(tools) - len(names)} more" if len(tools) > len(names) else ""
    return f"Others: {', '.join(names)}{more}." if names else ""
