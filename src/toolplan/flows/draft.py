"""A first policy for some tools, each line explained: what a person then corrects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.path import EVERY, Json, Path, print_path
from toolplan.tools import Tool

_MOST_DEPTH: Final = 5
_ID: Final = re.compile(r"(^|_)(id|ids|uuid|key)$", re.IGNORECASE)
_TEXT: Final = re.compile(
    r"(^|_)(body|content|text|message|msg|subject|title|description|comment|note|notes|summary)$",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(r"(^|_)(password|passwd|secret|token|api_?key|pin)$", re.IGNORECASE)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

_HEAD: Final = """\
# Where the values of dangerous arguments may come from. A draft: read it line by line.
# `toolplan policy check PLAN --tools …` shows what it decides about a plan.
#
# Labels, the greatest first: said (written in the plan), trusted, listed, untrusted.
# What is not named here is untrusted; an argument of a tool with effects needs to be trusted, and a
# person is asked where it is not.
"""


def draft_policy(tools: Mapping[str, Tool]) -> str:
    """Return the text of a first policy for `tools`, in TOML."""
    parts: list[str] = [_HEAD, *_outputs(tools), *_sinks(tools), *_egress(tools)]
    return "\n".join(parts)


def _outputs(tools: Mapping[str, Tool]) -> Iterator[str]:
    yield "# Outputs that nobody outside can write: your own contacts, your own accounts."
    yield "# Whoever puts a tool here says that nobody outside can make it lie."
    yield "[trusted]\noutputs = ["
    for tool in tools.values():
        if not tool.has_effects and tool.compute_flow is None:
            yield f"    # {_text(tool.name)},"
    yield "]\n"
    yield "# Outputs that exist, though somebody outside may have chosen which: ids in a list."
    yield "[listed]\noutputs = ["
    for tool in tools.values():
        if not tool.has_effects and tool.compute_flow is None:
            for path in _ids(tool.raw_output, (), 0):
                yield f"    {_text(tool.name + print_path(path))},"
    yield "]\n"
    yield "# Outputs that may not reach a tool of [egress]."
    yield "[secret]\noutputs = []\n"


def _sinks(tools: Mapping[str, Tool]) -> Iterator[str]:
    for tool in tools.values():
        if not tool.has_effects:
            continue
        yield f"# {_text(tool.name)}: {tool.effects.value}"
        yield f"[sinks.{_key(tool.name)}]"
        properties = tool.raw_input.get("properties") if isinstance(tool.raw_input, dict) else None
        for name, node in properties.items() if isinstance(properties, dict) else ():
            need, reason = _need(name, node)
            yield f"{_key(name)} = {need}  # {reason}"
        yield ""
    effects = [tool.name for tool in tools.values() if tool.has_effects]
    if effects:
        yield "# What conditions and choices before a call need; `trusted` where nothing is said."
        yield "[decide]"
        yield from (f'{_key(name)} = "trusted"' for name in effects)
        yield ""


def _need(name: str, node: Json) -> tuple[str, str]:
    if _SECRET.search(name):
        return '{ needs = "said", else = "refuse" }', "only what stands in the plan"
    if _ID.search(name):
        return '"listed"', "an id that exists"
    kind = node.get("type") if isinstance(node, dict) else None
    if _TEXT.search(name) and kind in ("string", None):
        return '"plain"', "any text without links, addresses and pictures"
    return '"trusted"', "not of an outsider's making"


def _egress(tools: Mapping[str, Tool]) -> Iterator[str]:
    open_world = [
        tool.name for tool in tools.values() if tool.annotations.get("openWorldHint") is True
    ]
    yield "# Tools whose calls somebody outside can read, or that fetch an address."
    yield f"[egress]\ntools = [{', '.join(map(_text, open_world))}]\n"


def _ids(node: Json, path: Path, depth: int) -> Iterator[Path]:
    """Yield the paths to the ids of what a list has."""
    if not isinstance(node, dict) or depth > _MOST_DEPTH:
        return
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if EVERY in path and _ID.search(name):
            yield (*path, name)
        yield from _ids(inner, (*path, name), depth + 1)
    yield from _ids(node.get("items"), (*path, EVERY), depth + 1)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(name: str) -> str:
    # a basic string of TOML has the escapes of JSON, except for the control character 0x7f
    return json.dumps(name).replace("\x7f", "\\u007f")
